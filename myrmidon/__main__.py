"""``python -m myrmidon``."""

from myrmidon.cli.main import main

raise SystemExit(main())
