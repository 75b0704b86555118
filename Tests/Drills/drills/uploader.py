"""A host that enqueues one file, says so, and then only stays there to be killed.

    python3 uploader.py '{"binary": ..., "directory": ..., "wish": ..., "url": ..., "file": ...}'
"""
import json
import pathlib
import signal
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

import drills  # noqa: E402, F401  (it finds the package below)
from endtoend.sidecar import Sidecar  # noqa: E402

settings = json.loads(sys.argv[1])
sidecar = Sidecar(settings["binary"], settings["directory"], "--on-disconnect", settings["wish"])
request = {"url": settings["url"], "method": "PUT", "file": settings["file"]}
call = sidecar.send("enqueue", {"id": "a", "key": "k", "request": request})
answer = sidecar.result(call, 300)
print(json.dumps({"pid": sidecar.process.pid, "disposition": answer["disposition"]}), flush=True)
signal.pause()
