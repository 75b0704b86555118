"""Plays one scenario by the public API of every client, and compares what came of it.

    python3 clients/scenario/run.py [CLIENT...]

README.md says what scenario.json may hold. OUTTRAY names the sidecar, else it is .build/outtray. Ends with
the table of all results; exit status 1 when a client did not do what the scenario expects, or two differ.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "protocol"))

from certification.stage import Difference  # noqa: E402
from player import Player  # noqa: E402

CLIENTS = ("javascript", "python", "asyncio", "go")


def command_of(client, folder):
    """What starts the driver of a client."""
    if client == "javascript":
        return ["node", str(ROOT / "clients/js/test/driver.mjs")]
    if client == "go":
        driver = str(folder / "driver")
        build = ["go", "build", "-o", driver, "./internal/driver"]
        subprocess.run(build, cwd=ROOT / "clients/go", check=True)
        return [driver]
    kind = "sync" if client == "python" else "async"
    return [sys.executable, str(ROOT / "clients/python/tests/driver.py"), kind]


def play(client, scenario, binary):
    """The results by step, as far as the client came, and what was not as expected."""
    results = []
    with tempfile.TemporaryDirectory(prefix=f"scenario-{client}-") as name:
        folder = pathlib.Path(name)
        player = Player(command_of(client, folder), folder, binary)
        try:
            player.write_files(scenario["files"])
            for step in scenario["steps"]:
                results.append("; ".join(player.step(step)))
            player.finish()
        except Difference as difference:
            player.problems.append(f"{difference}{player.last_words()}")
        finally:
            player.clear()
    return results, player.problems


def show(steps, clients, played):
    """Prints the table; how many rows are not the same for all."""
    failed = 0
    for number, step in enumerate(steps):
        cells = [played[one][0][number] if number < len(played[one][0]) else None for one in clients]
        same = None not in cells and len(set(cells)) == 1
        failed += not same
        print(f"{'same ' if same else 'DIFFERENT'} {step['name']}")
        for client, cell in [("", cells[0])] if same else zip(clients, cells):
            print(f"       {client + ': ' if client else ''}{cell or 'did not come so far'}")
    for client in clients:
        for problem in played[client][1]:
            print(f"FAILED {client}: {problem}")
    return failed


def main(arguments):
    clients = arguments or list(CLIENTS)
    if not set(clients) <= set(CLIENTS):
        sys.stderr.write(__doc__)
        return 64
    binary = os.path.abspath(os.environ.get("OUTTRAY") or ROOT / ".build" / "outtray")
    if not os.access(binary, os.X_OK):
        sys.stderr.write(f"scenario: no binary at {binary}: run scripts/build-release or set OUTTRAY\n")
        return 1
    scenario = json.loads((HERE / "scenario.json").read_text(encoding="utf-8"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = {one: pool.submit(play, one, scenario, binary) for one in clients}
        played = {one: run.result() for one, run in runs.items()}
    different = show(scenario["steps"], clients, played)
    broken = sum(bool(played[one][1]) for one in clients)
    print(f"scenario: {len(scenario['steps'])} steps by {', '.join(clients)}: "
          f"{different} different, {broken} clients failed")
    return 1 if different or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
