"""From spawn to the first answer, and to the first byte sent, beside `curl`: on a new directory, on an
empty queue and on one where a million entries wait."""
import contextlib
import os
import signal
import socket
import time

import measure
import sidecar
from workshop import entry

NAME = "start"
WAITING = 1_000_000


def measured(workshop):
    waiting = workshop.scaled(WAITING)
    empty, full = workshop.queue(0), workshop.queue(waiting)
    listener = workshop.enter_context(socket.create_server(("127.0.0.1", 0)))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    body = workshop.file(100)
    # What the median is taken of is quick, so many runs cost little.
    many = 4 * workshop.pairs

    def serve(directory):
        return workshop.binary, "serve", "--dir", str(directory)

    ping = sidecar.line(1, "ping")
    contenders = {
        "curl --version": lambda: until_a_line(("curl", "--version"), b""),
        "empty": lambda: until_a_line(serve(empty), ping),
        "full": lambda: until_a_line(serve(full), ping),
        "new": lambda: until_a_line(serve(workshop.fresh()), ping),
        "curl -T": lambda: until_a_byte(("curl", "-s", "-T", str(body), url), b"", listener),
        "empty, first byte": lambda: until_a_byte(
            serve(one_waiting(workshop, url, listener)), ping, listener)}
    taken = measure.rounds(contenders, many)
    yield measure.compare(
        "start to first answer, empty queue", "ms", taken, "empty", "curl --version", measure.at_most(2))
    yield measure.compare("start to first answer, new directory", "ms", taken, "new", "curl --version")
    yield measure.compare(
        f"start to first answer, {waiting} waiting", "ms", taken, "full", "empty", measure.at_most(1.3))
    yield measure.compare("start to first byte sent", "ms", taken, "empty, first byte", "curl -T")


def one_waiting(workshop, url, listener):
    """A queue with one entry that can go at once."""
    directory = workshop.fresh()
    with workshop.serve(directory) as serving:
        serving.call("pause")
        serving.call("enqueue", entry(1, url))
        serving.call("resume")
        serving.kill()
    drop_waiting(listener)
    return directory


def drop_waiting(listener):
    """What a process that was killed had begun to send must not be taken for the next one's."""
    listener.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
    listener.setblocking(True)


class Child:
    """A process between two pipes, started with as little as a program can do it with."""

    def __init__(self, command):
        to, self.input = os.pipe()
        self.output, out = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, to, 0), (os.POSIX_SPAWN_DUP2, out, 1)]
        self.began = time.perf_counter()
        self.pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
        os.close(to)
        os.close(out)

    def passed(self):
        return measure.Sample((time.perf_counter() - self.began) * 1e3)

    def end(self):
        os.close(self.input)
        while os.read(self.output, 1 << 16):
            pass
        os.close(self.output)
        os.waitpid(self.pid, 0)


def until_a_line(command, text):
    child = Child(command)
    if text:
        os.write(child.input, text)
    assert os.read(child.output, 1 << 16)
    sample = child.passed()
    child.end()
    return sample


def until_a_byte(command, text, listener):
    child = Child(command)
    if text:
        os.write(child.input, text)
    connection, _ = listener.accept()
    assert connection.recv(1)
    sample = child.passed()
    connection.close()
    os.kill(child.pid, signal.SIGKILL)
    child.end()
    return sample
