"""Faults of single system calls, by strace."""
import collections
import dataclasses
import pathlib
import re
import shutil
import subprocess

from .command import Skipped

# What may fail with something on its way to a file, whatever it is called on other machines.
WRITTEN, LOOKED_AT = ("EIO", "ENOSPC", "EROFS"), ("EIO",)
# What a sidecar has descriptors of its own from.
OF_THE_LOOP = ("socket", "eventfd2", "timerfd_create", "epoll_create1")
# What the store calls, and what each may fail with.
ERRORS = {
    "pwrite64": ("EIO", "ENOSPC", "EINTR", "EROFS"),
    "write": ("EIO", "ENOSPC", "EINTR"),
    "pread64": ("EIO", "EINTR"),
    "read": ("EIO", "EINTR"),
    "getdents64": ("EIO",),
    "fdatasync": ("EIO", "ENOSPC", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "ftruncate": ("EIO", "ENOSPC", "EINTR", "EROFS"),
    "openat": ("EMFILE", "EIO", "ENOSPC", "EINTR", "EROFS"),
    "copy_file_range": ("EIO", "ENOSPC", "EINTR", "ENOSYS"),
    "linkat": (*WRITTEN, "EMLINK", "EXDEV"),
    "link": (*WRITTEN, "EMLINK", "EXDEV"),
    **dict.fromkeys(("rename", "renameat", "renameat2", "mkdir", "mkdirat"), WRITTEN),
    **dict.fromkeys(("unlink", "unlinkat"), ("EIO", "EROFS", "EINTR")),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchown"), ("EIO", "EPERM", "EROFS")),
    **dict.fromkeys(("newfstatat", "fstat", "statx", "access", "faccessat", "faccessat2", "readlink",
                     "readlinkat"), LOOKED_AT),
    # SQLite's locks, and ours.
    "fcntl": ("ENOLCK", "EINTR"),
    "flock": ("ENOLCK", "EINTR"),
    # A reflink among them.
    "ioctl": ("EIO", "ENOSPC", "EINTR"),
    **dict.fromkeys(OF_THE_LOOP, ("EMFILE",)),
}
# Calls with a path or a descriptor that no disk makes fail: of sockets, pipes and timers, of memory, of the
# start, and those that only move a number.
BEYOND = frozenset(
    "accept accept4 bind brk close connect dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait epoll_wait "
    "execve exit getpeername getsockname getsockopt listen lseek mmap munmap pidfd_open pidfd_send_signal "
    "pipe2 poll ppoll pselect6 recvfrom recvmsg select sendmmsg sendmsg sendto setsockopt shutdown "
    "signalfd4 socketpair timerfd_create timerfd_settime writev readv uname getcwd chdir prlimit64 "
    "futex".split())
# How a sidecar may end besides: without descriptors of its own it cannot run (70); SQLite takes a lock that
# fails for one that somebody else has (75); Swift reads the arguments themselves, from /proc (64).
ENDS = {**dict.fromkeys(OF_THE_LOOP, {70}), "fcntl": {75}, "flock": {75}, "read": {64}}
# What a file of the caller's is looked at by.
OF_A_SOURCE = ("openat", "pread64", "read", "newfstatat", "fstat", "statx", "copy_file_range")
# Once; for a time; for good.
SPANS = ("{0}", "{0}..{1}", "{0}+")
WINDOW = 25


@dataclasses.dataclass
class Fault:
    """The `nth` such call, and as many more as `span` says, fail with `error` and do nothing."""

    call: str
    error: str
    nth: int
    span: str = SPANS[0]

    def __str__(self):
        return f"{self.call} {self.error} {self.when}"

    @property
    def when(self):
        return self.span.format(self.nth, self.nth + WINDOW)

    def under(self, trace):
        return ["strace", "-f", "--seccomp-bpf", "-o", str(trace), "-e", f"trace={self.call}",
                "-e", f"inject={self.call}:error={self.error}:when={self.when}"]

    @staticmethod
    def happened(trace):
        return trace.exists() and "(INJECTED)" in trace.read_text(encoding="utf-8", errors="replace")


# In place of a fault.
NONE = Fault("", "", 0)


def need_strace():
    if not shutil.which("strace"):
        raise Skipped("there is no strace")
    tried = subprocess.run(["strace", "-f", "--seccomp-bpf", "-e", "trace=none", "true"], capture_output=True)
    if tried.returncode:
        raise Skipped(f"nothing can be traced here: {tried.stderr.decode().strip()[:200]}")


def calls(trace):
    """How often each call was made."""
    names = re.compile(r"^\d+ +(\w+)\(", re.M)
    text = pathlib.Path(trace).read_text(encoding="utf-8", errors="replace")
    return collections.Counter(names.findall(text))


def overlooked(counts):
    """Calls of a run for which there is no fault and no reason to have none."""
    return sorted(set(counts) - set(ERRORS) - BEYOND)


def every(counts, chance, reach=1.2):
    """Faults of everything that is called, in a random order without end: each call and error in turn, at a
    place that is a little further than a quiet run came, at most."""
    kinds = [(call, error) for call, errors in ERRORS.items() if counts[call] for error in errors]
    while True:
        chance.shuffle(kinds)
        for call, error in kinds:
            nth = 1 + int(chance.random() ** 2 * counts[call] * reach)
            # No kernel interrupts a call for ever, and SQLite repeats one that is interrupted for as long.
            yield Fault(call, error, nth, chance.choice(SPANS[:2] if error == "EINTR" else SPANS))


def preload(folder):
    """A library that makes writes short; Skipped where it cannot be built."""
    return compiled("shortwrites", folder)


def compiled(name, folder):
    """Builds one of the libraries beside this file, to be preloaded; Skipped where it cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skipped(f"there is no C compiler for {name}.c")
    built = folder / f"{name}.so"
    source = pathlib.Path(__file__).resolve().parent / f"{name}.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built
