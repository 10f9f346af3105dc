"""Coverage for the terminal and as an HTML page."""

from collections.abc import Iterator

from myrmidon.testing.campaigns.coverage import Coverage, Matrix
from myrmidon.testing.campaigns.pages import page, section, table

_NONE = "."


def coverage_text(coverage: Coverage) -> str:
    """Return the tables for a terminal; a failed run is marked with ``!``."""
    return "\n".join(_lines(coverage))


def coverage_page(coverage: Coverage) -> str:
    """Return the tables as an HTML page."""
    parts = [f'<p class="soft">{coverage.runs} runs; {_share(coverage)}</p>']
    for matrix in coverage.matrices:
        if matrix.rows:
            rows = [
                [(row, ""), *((_cell(matrix, row, column), _kind(matrix, row, column))
                              for column in matrix.columns)]
                for row in matrix.rows
            ]  # fmt: skip
            parts.append(f"<h2>{matrix.name.capitalize()}</h2>")
            parts.append(table([matrix.name, *matrix.columns], rows))
    parts.append(section("States that were never reached", coverage.unreached or ["none"]))
    parts.append(section("Reasons that were seen", _reasons(coverage)))
    return page(f"Coverage of {coverage.scenario}", parts)


def _lines(coverage: Coverage) -> Iterator[str]:
    yield f"coverage of {coverage.scenario}: {coverage.runs} runs; {_share(coverage)}"
    for matrix in coverage.matrices:
        if not matrix.rows:
            continue
        yield ""
        names = max(len(matrix.name), *(len(row) for row in matrix.rows))
        widths = [max(len(column), 5) for column in matrix.columns]
        heads = zip(matrix.columns, widths, strict=True)
        yield "  ".join([matrix.name.ljust(names), *(name.rjust(wide) for name, wide in heads)])
        for row in matrix.rows:
            cells = [_cell(matrix, row, column) for column in matrix.columns]
            shown = (cell.rjust(wide) for cell, wide in zip(cells, widths, strict=True))
            yield "  ".join([row.ljust(names), *shown])
    yield ""
    if coverage.unreached:
        yield f"states that were never reached: {', '.join(coverage.unreached)}"
    for state, fault in coverage.open_cells:
        yield f"never tried: {fault} in {state}"
    yield f"reasons seen: {', '.join(_reasons(coverage)) or 'none'}"


def _share(coverage: Coverage) -> str:
    return f"{coverage.share:.0%} of the cells of states and faults are filled"


def _reasons(coverage: Coverage) -> list[str]:
    return [
        f"{one.condition}={one.status} {one.reason}".rstrip() for one in sorted(coverage.reasons)
    ]


def _cell(matrix: Matrix, row: str, column: str) -> str:
    found = matrix.cells.get((row, column))
    if found is None or not found.runs:
        return _NONE
    return f"{found.runs}!" if found.failed else str(found.runs)


def _kind(matrix: Matrix, row: str, column: str) -> str:
    found = matrix.cells.get((row, column))
    if found is None or not found.runs:
        return "none"
    return "failed" if found.failed else ""
