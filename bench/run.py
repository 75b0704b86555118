"""Every figure beside a peer in the same run, as one table.

    bench/run.py [--only NAME]... [--pairs N] [--quick] [--json FILE] [--markdown FILE]

Without OUTTRAY, the binary that scripts/build-release made. A missed target is told, and is no failure:
exit status 1 is for a figure that could not be measured.
"""
import argparse
import importlib
import json
import os
import pathlib
import signal
import sys
import time
import traceback

import machine
import measure
import workshop

HERE = pathlib.Path(__file__).resolve().parent
# In the order of the table.
FIGURES = ("accepts", "latency", "accept_file", "uploads", "posts", "start", "memory", "roundtrip",
           "outcomes", "rows", "idle", "growth")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", choices=FIGURES, help=", ".join(FIGURES))
    parser.add_argument("--pairs", type=int, default=5, help="rounds of each figure (default 5)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the work, not to be quoted")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there as Markdown")
    return parser.parse_args()


def main():
    given = arguments()
    binary = pathlib.Path(os.environ.get("OUTTRAY", workshop.ROOT / ".build/outtray")).resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"{binary} is not there; scripts/build-release makes it")
    # So that all that was started and made goes, as at any other end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows, failed = [], []
    with workshop.Workshop(binary, given.pairs, given.quick) as shop:
        about = machine.named(shop.binary, shop.folder)
        for name in given.only or FIGURES:
            began = time.monotonic()
            try:
                rows += importlib.import_module(f"figures.{name}").measured(shop)
            except Exception:  # One that cannot be measured must not cost the others.
                failed.append(name)
                traceback.print_exc()
            print(f"  {name}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(f"{key:14}{value}" for key, value in about.items()), end="\n\n")
    print(measure.table(rows))
    missed = sum(bool(row.missed_by) for row in rows)
    print(f"\n{sum(row.missed_by == 0 for row in rows)} targets met, {missed} missed")
    for name in failed:
        print(f"{name} could not be measured")
    write(given, about, rows, failed)
    sys.exit(bool(failed))


def write(given, about, rows, failed):
    if given.json:
        told = {"machine": about, "pairs": given.pairs, "quick": given.quick, "failed": failed,
                "rows": [row.as_json() for row in rows]}
        text = json.dumps(told, indent=2, ensure_ascii=False)
        pathlib.Path(given.json).write_text(text + "\n", encoding="utf-8")
    if given.markdown:
        pathlib.Path(given.markdown).write_text(measure.table(rows, markdown=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
