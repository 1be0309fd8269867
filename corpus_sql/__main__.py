"""The program: signals are seen to before anything large is imported, and a lack of memory or handles is told."""

from __future__ import annotations

import sys

from corpus_sql import stopping


def main() -> None:
    """Run the command line, and end the process."""
    stopping.guarded(_run)


def _run() -> int:
    from corpus_sql import limits

    try:
        from corpus_sql import cli

        cli.main()
    except Exception as error:
        met = limits.of(error)
        if met is None:
            raise
        print(f"error: {met}", file=sys.stderr)
        return met.exit_code


if __name__ == "__main__":
    main()
