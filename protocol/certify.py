"""Certifies a client: drives it by its driver program and plays the sidecar for it.

    python3 protocol/certify.py [--only NAME] COMMAND...

COMMAND starts the driver, a small program in the client's own language; certification/README.md says what it
must understand. Each check gets a driver of its own and a fresh directory. Every message that the client
sends is held against openrpc.json. The last line is `21 passed, 0 failed`; exit status 0 when none failed, 64
on wrong usage.
"""
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

from certification import checks
from certification.stage import Difference, Stage
from validate import Validator

HERE = pathlib.Path(__file__).resolve().parent


def run(check, command, validator):
    """None when the client passed, else what differed."""
    with tempfile.TemporaryDirectory(prefix="certify-") as folder:
        stage = Stage(command, folder, validator)
        try:
            check(stage)
            stage.finish()
        except Difference as difference:
            return f"{difference}{stage.last_words()}"
        finally:
            stage.clear()
    return None


def main(arguments):
    only = None
    if arguments[:1] == ["--only"]:
        only, arguments = arguments[1] if len(arguments) > 1 else "", arguments[2:]
    chosen = [check for check in checks.ALL if only is None or check.__name__ == only]
    if not arguments or arguments[0].startswith("-") or not chosen:
        sys.stderr.write(__doc__)
        return 64
    validator = Validator(json.loads((HERE / "openrpc.json").read_text(encoding="utf-8")))
    failed = 0
    # A check waits most of its time, so several run at once.
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        differences = pool.map(lambda check: run(check, arguments, validator), chosen)
        for check, difference in zip(chosen, differences):
            found = f"FAILED {check.__name__}: {difference}" if difference else f"ok {check.__name__}"
            print(found, flush=True)
            failed += difference is not None
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
