"""What the figures work with: the binary, C programs, a folder on the disk that is measured, servers,
full queues."""
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import sidecar

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
LIBRARIES = {"sink": ["-lssl", "-lcrypto", "-lpthread"], "commits": ["-lsqlite3"]}
# A key that stays paused: what has it waits.
HELD = "held"


def entry(number, url="http://127.0.0.1:9/", key=HELD, **request):
    """The params of an `enqueue` of about 400 bytes, as a host would send them."""
    return {
        "id": f"observation/{number:08}", "key": key, "vars": {"observation": number, "user": "naturalist-7"},
        "request": {"url": url, "data": {
            "observation": number, "note": "Under a fallen beech, north side, seen twice in the last hour.",
            "position": [48.137154, 11.576124], "species": "Vulpes vulpes"}, **request}}


class Workshop(contextlib.ExitStack):
    """Everything lies in one folder inside .build, on the disk of the repository; it goes at the end."""

    def __init__(self, binary, pairs, quick):
        super().__init__()
        self.binary, self.pairs, self.quick = str(binary), pairs, quick
        place = ROOT / ".build"
        place.mkdir(exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=place))
        self.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._number, self._built, self._filled, self._lines = 0, {}, {}, {}

    def scaled(self, count, to=20):
        """Less of it where the run is to be quick."""
        return max(1, count // to) if self.quick else count

    def fresh(self, name="queue"):
        """A path in the folder where nothing is yet."""
        self._number += 1
        return self.folder / f"{name}-{self._number}"

    def program(self, name):
        """The path of a program of `programs`, compiled."""
        if name not in self._built:
            target = self.folder / name
            subprocess.run(["cc", "-O2", "-o", str(target), str(self.source(f"{name}.c")),
                            *LIBRARIES.get(name, [])], check=True)
            self._built[name] = str(target)
        return self._built[name]

    def go_program(self, name):
        """The same of a program in Go."""
        if name not in self._built:
            target = self.folder / name
            subprocess.run(["go", "build", "-o", str(target), self.source(f"{name}.go")], check=True)
            self._built[name] = str(target)
        return self._built[name]

    def lines(self, count, **how):
        """A file of COUNT enqueues behind a pause of their key."""
        named = (count, *sorted(how.items()))
        if named not in self._lines:
            path = self._lines[named] = self.fresh("lines")
            with open(path, "wb") as file:
                file.write(sidecar.line("pause", "pause", {"keys": [HELD]}))
                file.writelines(sidecar.line(n, "enqueue", entry(n, **how)) for n in range(count))
        return str(self._lines[named])

    def host(self, window, setup, lines, *command):
        """What the C host measured with this command."""
        return self.told(self.program("host"), window, setup, lines, *command)

    def told(self, *command):
        """The JSON that a command prints."""
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def python(self, name, *arguments):
        """What a Python program of `programs` told, run by the Python that runs this."""
        return self.told(sys.executable, self.source(name), *arguments)

    @staticmethod
    def source(name):
        """The path of what is in `programs` under this name."""
        return PROGRAMS / name

    def serve(self, directory):
        return sidecar.Sidecar(self.binary, directory)

    def queue(self, size):
        """A directory in which so many entries wait, their key paused. The same one each time."""
        if size not in self._filled:
            directory = self._filled[size] = self.fresh(f"filled-{size}")
            with self.serve(directory) as filling:
                filling.call("pause", {"keys": [HELD]})
                fill(filling, size)
        return self._filled[size]

    def sink(self, certificate=None):
        """The port of a running sink."""
        return self.serving([self.program("sink"), *(certificate or [])])

    def serving(self, command):
        """Starts a server that prints its port, and ends it with the workshop."""
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
        self.enter_context(process)
        self.callback(process.kill)
        return int(process.stdout.readline())

    def file(self, size, sparse=False):
        """A file of SIZE bytes, written and synced, or all hole."""
        path = self.fresh("file")
        with open(path, "wb") as file:
            if sparse:
                file.truncate(size)
            for at in range(0, 0 if sparse else size, 1 << 20):
                file.write(bytes([at >> 20 & 255]) * min(1 << 20, size - at))
        if not sparse:
            subprocess.run(["sync", str(path)], check=True)
        return path


def fill(serving, count, batch=1000, at_once=4, **how):
    """Has COUNT entries accepted, a batch a call, a few calls under way."""
    starts = list(range(0, count, batch))
    for first in range(0, len(starts), at_once):
        serving.exchange([
            sidecar.line(f"fill-{start}", "enqueueAll",
                         {"entries": [entry(n, **how) for n in range(start, min(start + batch, count))]})
            for start in starts[first:first + at_once]])
