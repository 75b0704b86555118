"""Lays out the example for the one Electron that a registry has: 9.4.1, of 2020, with the syntax of its time.

What is laid out is the example itself, lowered by TypeScript's compiler; a later Electron takes it as
it stands.
"""
import shutil
import subprocess
from pathlib import Path

from rig import EXAMPLE

CLIENT = EXAMPLE.parents[1]
# What the client uses and Node 12 has not: Object.hasOwn, and an event for a child that runs.
ENTRY = """'use strict';
Object.hasOwn = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
const childProcess = require('child_process');
const { spawn } = childProcess;
childProcess.spawn = (...words) => {
  const child = spawn(...words);
  if (child.pid) setImmediate(() => child.emit('spawn'));
  return child;
};
require('./electron/main.js');
"""


def lay_out(folder: Path):
    """The app, somewhere in `folder`, with the client; its path is what Electron is started with."""
    app = folder / EXAMPLE.relative_to(CLIENT)
    sources = [CLIENT / "src", *(EXAMPLE / name for name in ("electron", "host", "page"))]
    for source in sources:
        shutil.copytree(source, folder / source.relative_to(CLIENT))
    scripts = [file for source in sources for kind in ("*.js", "*.mjs") for file in source.rglob(kind)]
    subprocess.run(["tsc", "--allowJs", "--checkJs", "false", "--target", "ES2019", "--module", "node16",
                    "--noResolve", "--skipLibCheck", "--rootDir", CLIENT, "--outDir", folder, *scripts],
                   check=True)
    for file in folder.rglob("*.js"):
        file.write_text(file.read_text().replace("require('node:", "require('"))
    shutil.copy(CLIENT / "package.json", folder)
    (folder / "node_modules").mkdir()
    (folder / "node_modules/outtray").symlink_to(folder)
    (app / "entry.js").write_text(ENTRY)
    (app / "package.json").write_text('{"name": "outtray-desktop", "main": "entry.js"}')
    return app
