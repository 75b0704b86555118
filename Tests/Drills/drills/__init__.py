"""What the drills are made of. The parts that the end-to-end tests have as well are taken from there."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
END_TO_END = str(ROOT / "Tests" / "EndToEnd")
if END_TO_END not in sys.path:
    sys.path.insert(0, END_TO_END)
