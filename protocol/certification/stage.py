"""The stage of one check: the client's driver on one side, the played sidecar on the other."""
import json
import os
import pathlib
import queue
import shlex
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = float(os.environ.get("CERTIFY_SECONDS", "20"))  # Longest wait for one message.
QUIET = 0.3  # How long nothing may come where nothing should.


class Difference(Exception):
    """The client did not do what the check asks."""


def fits(expected, message):
    """Whether `message` has all that `expected` has; what is more in an object is no difference."""
    if isinstance(expected, dict):
        return isinstance(message, dict) and all(
            name in message and fits(value, message[name]) for name, value in expected.items())
    return type(expected) is type(message) and expected == message


class Lines:
    """Messages of one stream, read aside; those that a check did not ask for yet wait in order."""

    def __init__(self, name, stream, check=None, on_line=None):
        self.name, self.check, self.on_line, self.waiting = name, check, on_line, []
        self.arrived = queue.Queue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            if self.on_line:
                self.on_line(line)
            self.arrived.put(line)
        self.arrived.put(None)

    def _next(self, seconds):
        line = self.arrived.get(timeout=seconds)
        if line is None:
            self.arrived.put(None)
            return None
        try:
            message = json.loads(line)
        except ValueError:
            raise Difference(f"{self.name}: no JSON: {line[:200]!r}") from None
        if self.check:
            self.check(message, line)
        return message

    def take(self, expected, seconds=SECONDS):
        """The oldest message that fits; younger and older ones stay for later."""
        return self._take(lambda message: fits(expected, message), expected, seconds)

    def _take(self, wanted, said, seconds):
        for index, message in enumerate(self.waiting):
            if wanted(message):
                return self.waiting.pop(index)
        end = time.monotonic() + seconds
        while True:
            try:
                message = self._next(max(0.0, end - time.monotonic()))
            except queue.Empty:
                message = None
            if message is None:
                seen = "; ".join(json.dumps(one)[:160] for one in self.waiting[-8:]) or "nothing"
                raise Difference(f"{self.name}: no {json.dumps(said)[:300]} came; there was {seen}")
            if wanted(message):
                return message
            self.waiting.append(message)

    def take_any(self, choices):
        """The oldest message that fits one of `choices`."""
        return self._take(lambda message: any(fits(choice, message) for choice in choices), choices, SECONDS)

    def take_like(self, member):
        """The oldest message that has this member."""
        return self._take(lambda message: member in message, member, SECONDS)

    def none(self, unwanted, seconds=QUIET):
        """Nothing of this kind is there, or comes soon."""
        try:
            found = self.take(unwanted, seconds)
        except Difference:
            return
        raise Difference(f"{self.name}: {json.dumps(found)[:300]} came, and should not")


class Sidecar:
    """One played process: what the client sent it, and how to answer.

    What every client may send by itself is answered at once; the checks see it all the same.
    """

    AT_ONCE = ("initialize", "configure", "ackEvents", "releaseEvents", "shutdown")
    GREETING = {"protocolVersion": 1, "server": {"name": "outtray", "version": "1.0.0"}, "pid": 1,
                "dir": "/stage", "role": "owner", "capabilities": [],
                "limits": {"maxLine": 67108864, "maxVars": 8388608, "maxInFlight": 4096, "maxWindow": 1024}}

    def __init__(self, connection, validator):
        self.connection, self.validator = connection, validator
        self.turn = threading.Lock()
        stream = connection.makefile("rb")
        self.arguments = json.loads(stream.readline())
        self.heard = Lines("the client's lines", stream, self._check, self._answer_at_once)

    def _answer_at_once(self, line):
        try:
            call = json.loads(line)
        except ValueError:
            return  # The check that reads it says so.
        if isinstance(call, dict) and call.get("method") in self.AT_ONCE and "id" in call:
            self.answer(call, self.GREETING if call["method"] == "initialize" else {})

    def _check(self, message, line):
        problems = self.validator.check_request(message)
        if problems:
            raise Difference(f"the client sent {line[:300]!r}: {problems[0]}")

    def _order(self, kind, content):
        with self.turn:
            try:
                self.connection.sendall(kind + struct.pack(">I", len(content)) + content)
            except OSError as error:
                raise Difference(f"the sidecar's process is gone: {error}") from None

    def write(self, content):
        """Bytes for the client, exactly so."""
        self._order(b"O", content)

    def say(self, *messages):
        """Messages in one write."""
        lines = [json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n" for message in messages]
        self.write("".join(lines).encode())

    def complain(self, content):
        self._order(b"E", content)

    def exit(self, status):
        self._order(b"X", str(status).encode())

    def kill(self, signal):
        self._order(b"K", str(signal).encode())

    def call(self, method, params=None):
        """The client's next call of `method`."""
        return self.heard.take({"method": method, **({} if params is None else {"params": params})})

    def answer(self, call, result=None):
        self.say({"id": call["id"], "result": {} if result is None else result})

    def refuse(self, call, code, number=1003, **more):
        error = {"code": number, "message": f"{code} on the stage", "data": {"code": code, **more}}
        self.say({"id": call["id"], "error": error})

    def serve(self, method, params=None, result=None):
        call = self.call(method, params)
        self.answer(call, result)
        return call

    def ended(self):
        """The client closed stdin; the process ends as the real one does."""
        while True:
            try:
                if self.heard._next(SECONDS) is None:
                    break
            except queue.Empty:
                raise Difference("the client did not close the sidecar's stdin") from None
        self.exit(0)


class Stage:
    """Starts the driver, hands it instructions, and waits for its sidecars."""

    def __init__(self, command, folder, validator):
        self.folder, self.validator, self.sidecars = pathlib.Path(folder), validator, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / "stage"))
        self.listener.listen()
        binary = self.folder / "outtray"
        relay = shlex.join([sys.executable, str(HERE / "relay.py"), str(self.folder / "stage")])
        binary.write_text(f'#!/bin/sh\nexec {relay} "$@"\n', encoding="utf-8")
        binary.chmod(0o755)
        environment = {**os.environ, "OUTTRAY_BINARY": str(binary)}
        with open(self.folder / "stderr", "wb") as errors:
            self.driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=errors, env=environment)
        self.reports = Lines("the driver's reports", self.driver.stdout)
        self.count = 0
        self.started = queue.Queue()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def dir(self):
        return str(self.folder / "queue")

    def tell(self, do, **more):
        """One instruction; the number under which its `done` or `failed` comes."""
        self.count += 1
        line = json.dumps({"do": do, "n": self.count, **more}) + "\n"
        try:
            self.driver.stdin.write(line.encode())
            self.driver.stdin.flush()
        except BrokenPipeError:
            raise Difference(f"the driver is gone before {do}") from None
        return self.count

    def done(self, number):
        """The value that instruction `number` came to."""
        report = self.reports.take({"n": number})
        if "done" not in report:
            raise Difference(f"instruction {number} failed: {json.dumps(report)}")
        return report["done"]

    def failed(self, number, code=None):
        report = self.reports.take({"n": number})
        if "failed" not in report or code not in (None, report["failed"].get("code")):
            raise Difference(f"instruction {number} was to fail with {code}: {json.dumps(report)[:300]}")
        return report["failed"]

    def do(self, do, **more):
        """An instruction that needs no sidecar's answer, and its value."""
        return self.done(self.tell(do, **more))

    def _accept(self):
        """A client may start its process, and wait for the greeting, before a check asks for it."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # The check is over.
            self.started.put(Sidecar(connection, self.validator))

    def sidecar(self):
        """The next process that the client starts; `initialize` is answered when it comes."""
        try:
            sidecar = self.started.get(timeout=SECONDS)
        except queue.Empty:
            raise Difference("the client started no sidecar") from None
        if sidecar.arguments[:3] != ["serve", "--dir", self.dir]:
            raise Difference(f"the sidecar was started with {sidecar.arguments}")
        self.sidecars.append(sidecar)
        return sidecar

    def finish(self):
        """Closes what the check left open: stdin ends, the process is reaped, the driver leaves with 0."""
        if self.driver.poll() is None:
            number = self.tell("close")
            for sidecar in self.sidecars[-1:]:
                sidecar.ended()
            self.done(number)
            self.driver.stdin.close()
        try:
            status = self.driver.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise Difference("the driver does not end after close and the end of its input") from None
        if status != 0:
            raise Difference(f"the driver ended with status {status}")

    def last_words(self):
        text = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip()
        return f"\n  {text[-2000:]}" if text else ""

    def clear(self):
        self.driver.kill()
        self.driver.wait()
        for stream in (self.driver.stdin, self.driver.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass  # What was not written has no reader any more.
        for sidecar in self.sidecars:
            sidecar.connection.close()
        self.listener.shutdown(socket.SHUT_RDWR)  # Wakes the thread that accepts.
        self.listener.close()
