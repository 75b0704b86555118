"""The clients of this repository as hosts: their drivers, told what to do and listened to."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

from endtoend.requests import FAST

from . import ROOT, ledger
from .bodies import Body
from .command import Skipped

sys.path[:0] = [str(ROOT / "clients" / "scenario"), str(ROOT / "protocol")]
from run import CLIENTS, command_of  # noqa: E402

KINDS = ("text", "text", "copy", "move", "form", "parts")
KEY = "drill"
# What a mutate may fail with when its sidecar is killed under it.
REFUSALS = {"E_SIDECAR_EXITED", "E_SHUTDOWN"}


def commands(folder):
    """What starts the driver of each client, those that can be started here."""
    found = {}
    for client in CLIENTS:
        try:
            found[client] = command_of(client, folder)
        except (OSError, subprocess.CalledProcessError) as fault:
            raise Skipped(f"the driver of {client} cannot be built: {fault}") from fault
    return found


class Client:
    """A driver that runs; stands among the hosts of a Storm."""

    def __init__(self, storm, language, command, background):
        storm.count += 1
        self.settings = {"name": f"{language}{storm.count}", "most": 0}
        self.ledger = ledger.Ledger(storm.folder / f"{self.settings['name']}.ledger", self.settings["name"])
        self.url = storm.server.url
        self.files = storm.folder / f"{self.settings['name']}.files"
        self.files.mkdir()
        self.asked, self.number, self.count = {}, 0, 0
        with open(storm.folder / "clients.stderr", "ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, "OUTTRAY_BINARY": storm.binary})
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()
        self.say("open", dir=str(storm.directory), options={"background": True} if background else {})
        self.say("define", key=KEY)
        self.say("configure", options={})

    @property
    def lives(self):
        return self.process.poll() is None

    def end(self, number):
        if number == signal.SIGTERM:
            self.say("close")
            with contextlib.suppress(BrokenPipeError):  # It was killed already.
                self.process.stdin.close()
        else:
            self.process.send_signal(number)

    def say(self, do, **members):
        self.number += 1
        line = json.dumps({"do": do, "n": self.number, **members}, ensure_ascii=False, separators=(",", ":"))
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # It was killed; what it had said is in the ledger.
        return self.number

    def mutate(self, chance):
        """Asks for one entry."""
        self.count += 1
        id = f"{self.settings['name']}-{self.count}"
        body = Body(id, chance.choice(KINDS), self.url, str(self.files), 100_000)
        self.ledger.write("ask", id=id, bodies=body.hashes, moves=body.moves, source=body.source)
        self.asked[self.number + 1] = id, body
        self.say("mutate", key=KEY, id=id, vars={"request": body.value(retry={"backoff": FAST})})

    def _listen(self):
        for line in self.process.stdout:
            try:
                report = json.loads(line)
            except ValueError:
                continue  # It was killed in the middle of the line.
            if report.get("n") in self.asked:
                self._asked_for(*self.asked[report["n"]], report)
            elif "failed" in report:
                self.ledger.write("refused", id="configure", code=report["failed"]["code"])
            elif "handler" in report:
                # A client keeps the event's id, and what it acknowledges, to itself.
                self.ledger.write("outcome", id=report["id"], eventId=None, attempts=None,
                                  requestId=None, status=None, deliveries=report["deliveries"],
                                  kind="completed" if report["handler"] == "onSuccess" else "error")

    def _asked_for(self, id, body, report):
        if "failed" in report:
            failed = report["failed"]
            self.ledger.write("refused", id=id, code=failed["code"], message=failed["message"])
            return
        self.ledger.write("accepted", id=id, disposition=None)
        if body.path and body.moves is None:
            os.unlink(body.path)
