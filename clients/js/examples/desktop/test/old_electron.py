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


def lower(source, target):
    """Copies a folder, with its scripts in the syntax of 2019."""
    shutil.copytree(source, target)
    scripts = [str(file) for kind in ("*.js", "*.mjs") for file in sorted(source.rglob(kind))]
    subprocess.run(["tsc", "--allowJs", "--checkJs", "false", "--target", "ES2019", "--module", "node16",
                    "--noResolve", "--skipLibCheck", "--rootDir", source, "--outDir", target, *scripts],
                   check=True)
    for file in target.rglob("*.js"):
        file.write_text(file.read_text().replace("require('node:", "require('").replace(
            'require("node:', 'require("'))


def lay_out(folder: Path):
    """The app in `folder`; its path is what Electron is started with."""
    for name in ("electron", "host", "page"):
        lower(EXAMPLE / name, folder / name)
    client = folder / "node_modules/outtray"
    lower(CLIENT / "src", client / "src")
    shutil.copy(CLIENT / "package.json", client)
    (folder / "entry.js").write_text(ENTRY)
    (folder / "package.json").write_text('{"name": "outtray-desktop", "main": "entry.js"}')
    return folder
