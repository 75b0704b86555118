"""A stand-in for the sidecar's process, with one fault.  stand_in.py FAULT ARGUMENTS..."""

import json
import os
import signal
import sys
import time

FAULT = sys.argv[1]
LIMITS = {"maxLine": 67108864, "maxVars": 8388608, "maxInFlight": 4096, "maxWindow": 1024}


def say(message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def main():
    if FAULT == "dies at once":
        sys.stderr.write("outtray: the directory is locked\n")
        sys.exit(75)
    if FAULT in ("deaf", "deaf and stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in FAULT else signal.SIG_DFL)
        sys.stderr.write("x" * 300_000)
    if FAULT == "never reads":
        time.sleep(60)
    for line in sys.stdin.buffer:
        call = json.loads(line)
        result = {"limits": LIMITS} if call["method"] == "initialize" else {"now": os.getpid()}
        if FAULT == "other version" and call["method"] == "initialize":
            data = {"code": "E_VERSION", "supported": [2]}
            say(
                {
                    "id": call["id"],
                    "error": {"code": 1005, "message": "version 1 is not served", "data": data},
                }
            )
            continue
        if FAULT == "dies on stats" and call["method"] == "stats":
            sys.stderr.write("last words\n")
            sys.exit(3)
        if FAULT == "silent on stats" and call["method"] == "stats":
            continue
        say({"id": call["id"], "result": result})
    if FAULT == "goes on":
        os.close(1)
        time.sleep(3)
    while FAULT.startswith("deaf"):
        time.sleep(1)


main()
