"""Which outtray is tested."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILT = [".build/outtray", ".build/release/outtray", ".build/debug/outtray"]


def find():
    """The path in OUTTRAY, else the first one that was built."""
    named = os.environ.get("OUTTRAY")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise FileNotFoundError(f"OUTTRAY names {named}, which cannot be run")
        return str(pathlib.Path(named).resolve())
    for place in BUILT:
        if os.access(ROOT / place, os.X_OK):
            return str(ROOT / place)
    raise FileNotFoundError(f"no binary to test: set OUTTRAY or build one of {', '.join(BUILT)}")
