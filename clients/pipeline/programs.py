"""The program `observations` in each language, and one process of it."""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {
    "javascript": ROOT / "clients/js/examples/pipeline/observations.mjs",
    "python": ROOT / "clients/python/examples/pipeline/observations.py",
    "go": ROOT / "clients/go/examples/pipeline",
    "wire": pathlib.Path(__file__).resolve().parent / "tests/observations.py",
}
PROGRESS = re.compile(r"^progress ([01]\.\d+)$", re.MULTILINE)


class NoProgram(Exception):
    pass


def command_of(language, folder):
    """What starts the program; Go's is built into the folder."""
    source = SOURCES[language]
    if not source.exists():
        raise NoProgram(f"there is no program at {source.relative_to(ROOT)}")
    if language == "javascript":
        return ["node", str(source)]
    if language == "go":
        binary = str(pathlib.Path(folder) / "observations")
        build = ["go", "build", "-o", binary, "./examples/pipeline"]
        subprocess.run(build, cwd=ROOT / "clients/go", check=True)
        return [binary]
    return [sys.executable, str(source)]


def environment(binary, **more):
    """For a program that uses the client of this repository, and the sidecar that is tested."""
    path = os.pathsep.join(filter(None, [str(ROOT / "clients/python/src"), os.environ.get("PYTHONPATH")]))
    ours = {"OUTTRAY_BINARY": binary, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **ours, **more}


class Running:
    """A process of the program, whose lines on stdout are collected."""

    def __init__(self, command, binary, log, kill_after=None):
        self.log, self.steps, self.at = log, [], time.monotonic()
        more = {"OBSERVATIONS_KILL_AFTER": str(kill_after)} if kill_after else {}
        with open(log, "ab") as errors:
            self.begin = errors.tell()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=errors, env=environment(binary, **more))
        self.changed = threading.Condition()
        self.at_end = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                words = line.decode("utf-8", "replace").split()
                if words[:1] == ["step"]:
                    with self.changed:
                        self.steps.append(" ".join(words[1:]))
                        self.changed.notify_all()
        with self.changed:
            self.at_end = True
            self.changed.notify_all()

    def wait_step(self, name, seconds):
        """Waits for a step of this name, or for the end; whether it came."""
        def came():
            return any(step.split()[0] == name for step in self.steps)
        with self.changed:
            self.changed.wait_for(lambda: came() or self.at_end, seconds)
            return came()

    def wait_stderr(self, text, seconds):
        """Waits until the program has said this, in either case; whether it did."""
        end = time.monotonic() + seconds
        while text.lower() not in self.stderr().lower():
            if time.monotonic() > end or self.process.poll() is not None:
                return text.lower() in self.stderr().lower()
            time.sleep(0.02)
        return True

    def wait(self, seconds):
        """The exit status, negative for a signal; None when it still runs then, and is killed."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        self.reader.join(seconds)
        return status

    def stderr(self):
        with open(self.log, "rb") as log:
            log.seek(self.begin)
            return log.read().decode("utf-8", "replace")

    def progress(self):
        return [float(number) for number in PROGRESS.findall(self.stderr())]

    @property
    def enqueued(self):
        """The observations whose enqueueAll was answered."""
        return {step.split()[1] for step in self.steps if step.startswith("enqueued ")}


def processes_of(folder):
    """The processes that name the folder in their arguments, zombies left out."""
    name, found = os.fsencode(str(folder)), []
    for place in os.listdir("/proc"):
        if place.isdigit() and int(place) != os.getpid():
            try:
                arguments = pathlib.Path("/proc", place, "cmdline").read_bytes()
            except OSError:
                continue  # It has ended meanwhile.
            if name in arguments:
                found.append(int(place))
    return found


def sidecars_of(folder, binary):
    """Those of them that are sidecars."""
    def is_sidecar(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", binary)
        except OSError:
            return False
    return [pid for pid in processes_of(folder) if is_sidecar(pid)]


def wait_for_end(folder, seconds):
    """Waits until no process names the folder; those that are left then."""
    end = time.monotonic() + seconds
    while True:
        pids = processes_of(folder)
        left = end - time.monotonic()
        if not pids or left <= 0:
            return pids
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                select.select([descriptor], [], [], max(0, end - time.monotonic()))
            finally:
                os.close(descriptor)


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # It has ended by itself.
