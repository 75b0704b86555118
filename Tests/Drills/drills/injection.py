"""Faults of single system calls, by strace."""
import collections
import dataclasses
import pathlib
import re
import shutil
import subprocess

from .command import Skipped

# What the store calls, and what each may fail with.
ERRORS = {
    "pwrite64": ("EIO", "ENOSPC", "EINTR", "EROFS"),
    "write": ("EIO", "ENOSPC", "EINTR"),
    "pread64": ("EIO", "EINTR"),
    "fdatasync": ("EIO", "ENOSPC", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "ftruncate": ("EIO", "ENOSPC", "EINTR", "EROFS"),
    "openat": ("EMFILE", "EIO", "ENOSPC", "EINTR", "EROFS"),
    "copy_file_range": ("EIO", "ENOSPC", "EINTR", "ENOSYS"),
    "linkat": ("EIO", "ENOSPC", "EMLINK", "EXDEV", "EROFS"),
    "link": ("EIO", "ENOSPC", "EMLINK", "EXDEV", "EROFS"),
    "rename": ("EIO", "ENOSPC", "EROFS"),
    "unlink": ("EIO", "EROFS", "EINTR"),
    "unlinkat": ("EIO", "EROFS", "EINTR"),
    "mkdir": ("EIO", "ENOSPC", "EROFS"),
}
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
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skipped("there is no C compiler for the short writes")
    library = folder / "shortwrites.so"
    source = pathlib.Path(__file__).resolve().parent / "shortwrites.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library
