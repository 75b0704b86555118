"""Several hosts on one directory, and what befalls them."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from endtoend import deadline
from endtoend.acceptance import processes_on
from endtoend.sidecar import Sidecar

from . import invariants, ledger

HOST = pathlib.Path(__file__).resolve().parent / "host.py"
WISHES = ("exit", "exit", "drain", "stay:3")


class Running:
    """A host that runs as a process."""

    def __init__(self, settings):
        self.settings = settings
        with open(f"{settings['folder']}/hosts.stderr", "ab") as log:
            self.process = subprocess.Popen([sys.executable, str(HOST), json.dumps(settings)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def lives(self):
        return self.process.poll() is None

    def end(self, number):
        self.process.send_signal(number)


class Storm:
    """Hosts by `settings`, on the directory `queue` of a folder that holds their ledgers."""

    def __init__(self, options, server, wishes=WISHES, directory=None, **settings):
        self.folder = options.folder
        self.directory = directory or options.folder / "queue"
        self.binary = options.binary
        self.seed = options.seed
        self.chance = options.chance("storm")
        self.server = server
        self.wishes = wishes
        self.settings = settings
        self.hosts = []
        self.count = 0
        self.befell = {}
        # When the disk said what was not so, and the entries of which therefore nothing is known.
        self.doubts, self.doubted = [], set()
        self.last_under = ()

    def spawn(self, **settings):
        """Starts a further host."""
        self.count += 1
        name = f"h{self.count}"
        self.hosts.append(Running({
            "name": name, "seed": f"{self.seed}:{name}", "binary": self.binary,
            "directory": str(self.directory), "folder": str(self.folder), "url": self.server.url,
            "wish": self.chance.choice(self.wishes), "window": self.chance.choice([1, 8, 64]),
            "forks": self.chance.random() < 0.25, **self.settings, **settings}))
        return self.hosts[-1]

    def lines(self):
        """The ledgers of the hosts, without what was said while nothing could be relied upon."""
        lines = ledger.read(self.folder)
        for doubt in self.doubts:
            lines, entries = ledger.without(lines, doubt)
            self.doubted |= entries
        return lines

    @contextlib.contextmanager
    def doubting(self):
        """What is said inside is no promise."""
        begin, hosts = time.monotonic(), frozenset(host.settings["name"] for host in self.hosts)
        yield
        self.doubts.append(ledger.Doubt(begin, time.monotonic(), hosts))

    def asked(self):
        """How many enqueues were begun, by all hosts so far."""
        return sum(path.read_bytes().count(b'"what": "ask"') for path in self.folder.glob("h*.ledger"))

    def accepted_now(self):
        """How many enqueues of the hosts that live were accepted."""
        places = [self.folder / f"{host.settings['name']}.ledger" for host in self.hosts]
        return sum(place.read_bytes().count(b'"what": "accepted"') for place in places if place.exists())

    # What befalls them

    def sidecars(self):
        """Process ids, the owner's first."""
        owner = None
        with contextlib.suppress(OSError):  # Not there yet, or the disk has stopped.
            owner = holder(self.directory / "lock")
        return sorted((pid for pid in processes_on(self.directory) if program(pid) == self.binary),
                      key=lambda pid: pid != owner)

    def befall(self, *what):
        """One of `what` happens to somebody; returns which."""
        what = self.chance.choice(what or list(self.HAPPENINGS))
        self.befell[what] = self.befell.get(what, 0) + 1
        self.HAPPENINGS[what](self)
        self.hosts = [host for host in self.hosts if host.lives]
        return what

    def _some_host(self, number):
        if self.hosts:
            self._end_host(self.chance.choice(self.hosts), number)

    def _end_host(self, host, number):
        host.end(number)
        host.process.wait(30)

    def _some_sidecar(self, number, place):
        found = self.sidecars()
        if found:
            kill(found[0] if place == "owner" else self.chance.choice(found), number)

    def _everybody(self):
        for host in self.hosts:
            host.process.kill()
        for pid in self.sidecars():
            kill(pid, signal.SIGKILL)
        for host in self.hosts:
            host.process.wait(30)

    def _all_hosts(self):
        for host in self.hosts:
            host.process.kill()
        for host in self.hosts:
            host.process.wait(30)

    def _owners_host(self):
        """Leaves in order while the others stay."""
        found = self.sidecars()
        for host in self.hosts:
            if found and parent(found[0]) == host.process.pid:
                self._end_host(host, signal.SIGTERM)

    HAPPENINGS = {
        "host killed": lambda self: self._some_host(signal.SIGKILL),
        "host left": lambda self: self._some_host(signal.SIGTERM),
        "owner's host left": _owners_host,
        "owner killed": lambda self: self._some_sidecar(signal.SIGKILL, "owner"),
        "sidecar killed": lambda self: self._some_sidecar(signal.SIGKILL, "any"),
        "sidecar terminated": lambda self: self._some_sidecar(signal.SIGTERM, "any"),
        "all hosts killed": _all_hosts,
        "everybody killed": _everybody,
    }

    # The end

    def clear(self):
        """Ends every host, in order where it still can, and the children that held pipes."""
        for host in self.hosts:
            host.end(signal.SIGTERM)
        for host in self.hosts:
            try:
                host.process.wait(30)
            except subprocess.TimeoutExpired:
                host.process.kill()
                host.process.wait()
                raise AssertionError(f"{host.settings['name']} did not leave") from None
        self.hosts = []
        # By their arguments: a host may have been killed before it could note its child.
        for pid in processes_on(self.directory):
            with contextlib.suppress(OSError):
                if os.fsencode(HOST) in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    kill(pid, signal.SIGKILL)

    def abandon(self):
        """Kills whatever is still there, after a failure."""
        for host in self.hosts:
            host.process.kill()
            host.process.wait()
        for pid in processes_on(self.directory):
            kill(pid, signal.SIGKILL)

    def settle(self, seconds=120):
        """A last host takes everything that is left, until nothing is."""
        taken = ledger.Ledger(self.folder / "last.ledger", "last")
        with self._last_host() as sidecar:
            self.take_all(sidecar, taken, seconds)
            taken.write("ended", status=sidecar.close(30))

    @contextlib.contextmanager
    def _last_host(self):
        sidecar = Sidecar(self.binary, self.directory, log=self.folder / "last.stderr", under=self.last_under)
        try:
            yield sidecar
        finally:
            sidecar.dispose()

    def sweep(self):
        """What interrupted copies have left goes a day later by any clock; returns it, and what is wrong."""
        left = invariants.bodies(self.directory)
        for path in left:
            invariants.age(path)
        with self._last_host() as sidecar:
            sidecar.call("takeDiagnostics")
            assert sidecar.close(30) == 0
        stay = invariants.bodies(self.directory)
        wrong = [f"an interrupted copy is there after a day: {path}" for path in stay
                 if path.name.startswith("body-")]
        return left, wrong + invariants.unexplained(left, ledger.read(self.folder), self.doubted)

    def take_all(self, sidecar, taken, seconds):
        """Has `sidecar` told of every outcome, by which they are taken down and acknowledged, until no entry
        is left."""
        sidecar.subscribe("settled", window=1024)
        end, patched = time.monotonic() + seconds, 0.0
        while True:
            outcomes = sidecar.take_events("settled")
            for outcome in outcomes:
                taken.write("outcome", **ledger.of_outcome(outcome))
            if outcomes:
                sidecar.ack(*outcomes)
                taken.write("acked", eventIds=[outcome["eventId"] for outcome in outcomes])
                continue
            stats = sidecar.call("stats")
            if not any(stats["entries"].values()):
                return
            if stats["entries"]["awaitingAuth"] and time.monotonic() > patched:
                patched = time.monotonic() + 0.2
                sidecar.call("updateHeaders", headers={"X-Token": str(patched)})
            # An error keeps its row, and its body, after it was acknowledged: it could be enqueued again.
            if stats["entries"]["error"] and not stats["outcomes"]["unacknowledged"]:
                for row in sidecar.rows(state="error"):
                    sidecar.call("cancel", id=row["id"])
            entries = stats["entries"]
            assert time.monotonic() < end, f"not settled within {seconds} s: {entries}, {sidecar.rows()[:3]}"
            time.sleep(0.01)

    def judge(self, result, **how):
        """Adds to the result what the ledgers and the directory show."""
        self.server.check()
        lines = self.lines()
        left, wrong = self.sweep()
        result.count("bodies of interrupted calls", len(left))
        result.faults += wrong
        result.add(invariants.compare(lines, self.server, but=self.doubted, **how))
        for fault in invariants.ends_well(self.directory):
            result.leftover_processes += fault.startswith("processes")
            result.faults.append(fault)
        if self.doubts:
            result.count("entries in doubt", len(self.doubted))
        for what, count in self.befell.items():
            result.count(what, count)
        for fate, count in self.server.fates.items():
            result.count(f"server: {fate}", count)


def kill(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def program(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def holder(lock):
    """The process that holds a lock of the kernel's on this file, or None."""
    inode = os.stat(lock).st_ino
    for line in pathlib.Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
            return int(fields[4])
    return None


def until_owned(storm):
    """Waits until somebody owns the directory."""
    deadline.until("somebody owns the directory", lambda: (storm.directory / "lock").exists()
                   and holder(storm.directory / "lock"), 30)


def until_accepted(storm, count):
    """Waits until the hosts that live have had so many enqueues accepted."""
    deadline.until(f"{count} entries are accepted", lambda: storm.accepted_now() >= count, 60)
