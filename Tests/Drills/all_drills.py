"""Every drill in its short form, one after the other; prints one table.

    python3 Tests/Drills/all_drills.py [--seed S] [--json FILE]

Exit status 1 when one failed. Run a drill by itself to run it at length.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import types

import clients
import clocks
import crash_points
import drain
import faults
import fuzz
import kills
import load
import power_cuts
import simulation
import soak
from drills import command


@dataclasses.dataclass
class Short:
    """How a drill is run when there is little time."""

    module: types.ModuleType
    cycles: int
    size: int = 0
    # Of what is played from the same seed each time; else a new one is drawn.
    seed: int | None = None

    @property
    def name(self):
        return self.module.NAME

    def run(self, seed):
        chosen = seed if self.seed is None else self.seed
        return command.perform(self.module.drill, self.name, self.cycles, chosen, self.size)


EVERY = (Short(kills, 16), Short(clients, 3), Short(drain, 2, 48 << 20), Short(power_cuts, 10),
         Short(faults, 10), Short(load, 1, 2000), Short(clocks, 10),
         Short(crash_points, 80), Short(soak, 8), Short(simulation, 2000, seed=1), Short(fuzz, 3000, seed=1))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--json", metavar="FILE", help="write the results there as well")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"every drill: --seed {given.seed}", flush=True)
    results = []
    for short in EVERY:
        print(f"  {short.name}, {short.cycles} cycles", flush=True)
        results.append(short.run(given.seed))
    print(command.table(results))
    for result in results:
        command.report(result)
    if given.json:
        text = json.dumps({"seed": given.seed, "drills": [result.as_json() for result in results]}, indent=2)
        pathlib.Path(given.json).write_text(text + "\n", encoding="utf-8")
        print(f"{given.json} has the details")
    sys.exit(any(result.verdict == "FAILED" for result in results))


if __name__ == "__main__":
    main()
