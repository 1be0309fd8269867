"""The program: signals are seen to before anything large is imported, and a lack of memory or handles is told."""

from __future__ import annotations

import sys

from corpus_sql import stopping
from corpus_sql.errors import starved


def main() -> None:
    """Run the command line, and end the process."""
    stopping.guarded(_run)


def _run() -> int:
    try:
        from corpus_sql import cli

        cli.main()
    except Exception as error:
        problem = starved(error)
        if problem is None:
            raise
        print(f"error: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    main()
