"""``python -m cplc``."""

from __future__ import annotations

from cplc.cli.main import main

if __name__ == "__main__":
    main()
