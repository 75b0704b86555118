"""One child process: start it, write to it, hear it, see it end."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import weakref
from dataclasses import dataclass
from typing import Callable, List, Mapping, Optional, Sequence

from ._binary import explain, find_binary
from ._errors import SidecarExited, StartError

STDERR_KEPT = 64 * 1024
READ = 256 * 1024
# The sidecar promises to end within 5 s of the end of its input.
END_S = 7.0
TERM_S = 3.0
KILL_S = 2.0
# One that serves nobody else ends within milliseconds of its output.
LET_GO_S = 1.5
# One that has nothing to do in the background is gone so soon after its last answer.
ALONE_S = 0.2


@dataclass(frozen=True)
class Launch:
    """How the sidecar is started."""

    dir: str
    binary: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    on_disconnect: str = "exit"
    keep_awake: bool = False
    virtual_clock: bool = False

    @property
    def arguments(self) -> List[str]:
        switches = {"--keep-awake": self.keep_awake, "--virtual-clock": self.virtual_clock}
        flags = [flag for flag, is_on in switches.items() if is_on]
        return ["serve", "--dir", self.dir, "--on-disconnect", self.on_disconnect, *flags]

    @property
    def leaves(self) -> bool:
        """Whether it may go on when the host is gone."""
        return self.on_disconnect != "exit"


class SidecarProcess:
    """Threads and not an event loop's watchers, so that it works in every loop and without one."""

    def __init__(
        self, launch: Launch, on_bytes: Callable[[bytes], None], on_end: Callable[[SidecarExited], None]
    ) -> None:
        file, source = find_binary(launch.binary, os.environ if launch.env is None else launch.env)
        parent = os.path.dirname(launch.dir)
        if not os.path.isdir(parent):
            raise StartError("E_DIR_UNUSABLE", f"the queue cannot be made: {parent} does not exist")
        try:
            # A sidecar that goes on alone must not hear the hang-up of this host's terminal.
            self._child = subprocess.Popen(
                [file, *launch.arguments],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if launch.env is None else dict(launch.env),
                start_new_session=launch.leaves,
            )
        except OSError as error:
            raise explain(error, file, source) from error
        self._on_bytes = on_bytes
        self._on_end = on_end
        self._frames: "queue.SimpleQueue[Optional[bytes]]" = queue.SimpleQueue()
        self._stderr = b""
        self._input_ended = False
        self._signalled = False
        self._let_go = False
        self._heard_all = threading.Event()
        self._ended = threading.Event()
        LIVE.add(self)
        self._errors = self._thread("stderr", self._drain)
        self._thread("writer", self._write)
        self._thread("reader", self._read)

    def write(self, frame: bytes) -> None:
        """Puts one whole frame in line. Never blocks, and an interrupt never leaves half a frame."""
        self._frames.put(frame)

    def end_input(self) -> None:
        """Closes stdin behind what is in line."""
        self._input_ended = True
        self._frames.put(None)

    def close(self, seconds: float) -> None:
        """Ends input and waits for the process to be reaped; then SIGTERM, then SIGKILL.

        One that has ended its output after that and goes on serves other hosts, and gets no signal.
        """
        self.end_input()
        for wait, signal in ((seconds, self._child.terminate), (TERM_S, self._child.kill), (KILL_S, None)):
            if self._ended.wait(wait) or self._let_go:
                return
            if signal is not None:
                self._signalled = True
                signal()

    def leave(self, seconds: float) -> None:
        """Ends input and lets it go on, without a signal. A daemon thread reaps it whenever it ends.

        It closes stdout once what it had read is answered; that is waited for.
        """
        self.end_input()
        if self._heard_all.wait(seconds):
            self._ended.wait(ALONE_S)

    def forget(self) -> None:
        """In a child after a fork: its copies of the pipes would keep the sidecar's input open for ever."""
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _thread(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"outtray-{name}", daemon=True)
        thread.start()
        return thread

    def _write(self) -> None:
        assert self._child.stdin is not None
        descriptor = self._child.stdin.fileno()
        while True:
            frame = self._frames.get()
            if frame is None:
                break
            rest = memoryview(frame)
            try:
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            except OSError:
                break  # A broken pipe is the first sign of an end whose reason only the exit tells.
        self._child.stdin.close()

    def _drain(self) -> None:
        assert self._child.stderr is not None
        descriptor = self._child.stderr.fileno()
        while True:
            chunk = os.read(descriptor, READ)
            if not chunk:
                return
            self._stderr = (self._stderr + chunk)[-STDERR_KEPT:]

    def _read(self) -> None:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        while True:
            chunk = os.read(descriptor, READ)
            if not chunk:
                break
            self._on_bytes(chunk)
        self._finish()

    def _finish(self) -> None:
        """stdout has ended: the process has to end too, unless it was asked to and goes on without us."""
        self._let_go = self._input_ended and not self._signalled
        self.end_input()
        self._heard_all.set()
        if not self._let_go:
            status = self._reap()
        else:
            try:
                status = self._child.wait(LET_GO_S)
            except subprocess.TimeoutExpired:
                try:
                    self._tell(None)
                finally:
                    self._child.wait()
                    self._close_streams()
                return
        self._close_streams()
        self._tell(status)

    def _close_streams(self) -> None:
        self._errors.join(0.5)
        LIVE.discard(self)
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None and not (stream is self._child.stderr and self._errors.is_alive()):
                stream.close()

    def _tell(self, status: Optional[int]) -> None:
        """Says how it has ended; None: it has let us go."""
        stderr = self._stderr.decode("utf-8", "replace")
        signal = -status if status is not None and status < 0 else None
        try:
            self._on_end(SidecarExited(None if signal else status, signal, stderr))
        finally:
            self._ended.set()

    def _reap(self) -> int:
        for wait, signal in ((END_S, self._child.terminate), (TERM_S, self._child.kill)):
            try:
                return self._child.wait(wait)
            except subprocess.TimeoutExpired:
                signal()
        return self._child.wait()


LIVE: "weakref.WeakSet[SidecarProcess]" = weakref.WeakSet()


def _forget_all() -> None:
    for process in list(LIVE):
        process.forget()


os.register_at_fork(after_in_child=_forget_all)

__all__: Sequence[str] = ("Launch", "SidecarProcess")
