"""Record again what the real server's own code makes of the expressions in ../recorded.json.

    go mod tidy && go build -o /tmp/recorder . && python record.py /tmp/recorder

It needs Go and its module proxy, no cluster.  To add a case, add an answer with nothing but its
``expr`` to a group, and record.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "recorded.json"


def main(recorder: str) -> None:
    """Ask the recorder about every expression of every group."""
    groups = json.loads(RECORDED.read_text())
    with subprocess.Popen(
        [recorder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(**question: Any) -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer

        for group in groups:
            given = {key: group[key] for key in ("schema", "root", "optional")}
            values = {"self": group["self"]}
            if group["old"] is not None:
                values["old"] = group["old"]
            group["answers"] = [
                {
                    "expr": expr,
                    **ask(expr=expr, **given, **values),
                    "rule": ask(expr=expr, rule=True, **given),
                }
                for expr in [answer["expr"] for answer in group["answers"]]
            ]
    text = json.dumps(groups, ensure_ascii=False, indent=0, sort_keys=True)
    RECORDED.write_text(re.sub(r"selfType\d+", "selfType1", text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
