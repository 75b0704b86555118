"""Real child processes: finding them, their deaths, forks, interrupts, and the end."""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
from rig import CLIENT, until

from outtray import (
    AsyncUploadClient,
    CallError,
    ClosedError,
    ForkedError,
    InvalidError,
    SidecarExited,
    StartError,
    UploadClient,
    _process,
    _session,
)

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture
def binary(tmp_path):
    """An executable that stands in for the sidecar, with one fault."""

    def make(fault="none"):
        path = tmp_path / "stand-in"
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "stand_in.py"} "{fault}" "$@"\n')
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def opened(binary, tmp_path, warnings):
    clients = []

    def make(fault="none", **options):
        client = UploadClient(
            tmp_path / "queue",
            binary=binary(fault),
            on_warning=lambda message, detail: warnings.append(message),
            **options,
        )
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


def test_a_missing_binary_names_the_path_and_its_source(tmp_path):
    client = UploadClient(tmp_path / "q", binary="/nowhere/outtray")
    with pytest.raises(
        StartError, match=r"/nowhere/outtray \(from the option binary\) does not exist"
    ) as caught:
        client.ping()
    assert caught.value.code == "E_BINARY_MISSING"
    client.close()


def test_the_binary_is_looked_for_in_order(tmp_path, binary, monkeypatch):
    monkeypatch.setattr("outtray._binary.BUNDLED", tmp_path / "none")
    with UploadClient(tmp_path / "q", env={"PATH": ""}) as client:
        with pytest.raises(StartError, match="no sidecar found"):
            client.ping()
    with UploadClient(tmp_path / "q", env={"OUTTRAY_BINARY": "/nowhere"}) as client:
        with pytest.raises(StartError, match="from OUTTRAY_BINARY"):
            client.ping()
    path = pathlib.Path(binary())
    path.rename(tmp_path / "outtray")
    with UploadClient(
        tmp_path / "q", env={**os.environ, "OUTTRAY_BINARY": "", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    ) as client:
        assert client.ping() > 0


def test_a_directory_that_cannot_be_made(binary, tmp_path):
    with UploadClient(tmp_path / "no" / "queue", binary=binary()) as client:
        with pytest.raises(StartError, match="does not exist") as caught:
            client.ping()
        assert caught.value.code == "E_DIR_UNUSABLE"
    with pytest.raises(InvalidError, match="dir"):
        UploadClient()


def test_a_missing_loader_is_told_from_a_missing_file(tmp_path):
    path = tmp_path / "alien"
    path.write_text("#!/nowhere/loader\n")
    path.chmod(0o755)
    with UploadClient(tmp_path / "q", binary=str(path)) as client:
        with pytest.raises(StartError, match="is there, but /nowhere/loader is missing") as caught:
            client.ping()
        assert caught.value.code == "E_LOADER_MISSING"
    elf = bytearray(pathlib.Path("/bin/true").read_bytes())
    at = elf.find(b"/lib64/ld-linux")
    elf[at : at + 8] = b"/nowhere"
    path.write_bytes(elf)
    with UploadClient(tmp_path / "q", binary=str(path)) as client:
        with pytest.raises(StartError, match="/nowhere"):
            client.ping()
    path.write_bytes(b"text")
    path.chmod(0o644)
    with UploadClient(tmp_path / "q", binary=str(path)) as client:
        with pytest.raises(StartError) as caught:
            client.ping()
        assert caught.value.code == "E_SPAWN"


def test_a_death_fails_every_call_with_status_and_last_words(opened, warnings):
    client = opened("dies on stats")
    client.ping()
    calls = [client._uploads.call("stats") for _ in range(10)]
    for call in calls:
        with pytest.raises(SidecarExited, match="exited with status 3: last words") as caught:
            call.result(10)
        assert (caught.value.status, caught.value.signal) == (3, None)
    assert client.ping() > 0
    assert until(lambda: [one for one in warnings if "the next call starts it again" in one])


def test_a_signal_is_told(opened):
    client = opened("silent on stats")
    pid = client.ping()
    call = client._uploads.call("stats")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SidecarExited, match="ended by signal 9") as caught:
        call.result(10)
    assert caught.value.signal == 9
    assert client.ping() not in (0, pid)


def test_a_sidecar_that_dies_at_every_start_is_not_started_for_ever(opened):
    client = opened("dies at once")
    starts = []
    popen = subprocess.Popen
    try:
        _process.subprocess.Popen = lambda *all, **named: starts.append(1) or popen(*all, **named)
        for _ in range(20):
            with pytest.raises(SidecarExited, match="status 75: outtray: the directory is locked"):
                client.ping()
    finally:
        _process.subprocess.Popen = popen
    assert len(starts) == _session.MOST_STARTS


def test_close_reaps_and_a_flood_on_stderr_holds_up_nothing(opened):
    client = opened("deaf")
    pid = client.ping()
    client._link._process.close(0.1)
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists())


def test_close_is_bounded_whatever_the_sidecar_does(opened, monkeypatch):
    monkeypatch.setattr("outtray._process.TERM_S", 0.2)
    monkeypatch.setattr("outtray._client.CLOSE_S", 0.2)
    client = opened("deaf and stubborn")
    pid = client.ping()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    assert not pathlib.Path(f"/proc/{pid}").exists()


def test_a_call_into_a_full_pipe_blocks_nobody_and_close_ends_it(opened, monkeypatch):
    monkeypatch.setattr("outtray._client.CLOSE_S", 0.2)
    client = opened("never reads")
    calls = [client._uploads.call("cancel", [("id", "x" * 1_000_000)]) for _ in range(5)]
    client.close()
    for call in calls:
        with pytest.raises(ClosedError):
            call.result(10)


def test_a_client_in_a_forked_child_says_so_and_lets_the_sidecar_go(opened, tmp_path):
    client = opened()
    pid = client.ping()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            client.close()
            client.ping()
        except ForkedError as error:
            status = 0 if "make a client here" in str(error) else 2
        # A worker that stays: its copy of the pipe must not keep the sidecar's input open.
        (tmp_path / "told").write_text(str(status))
        time.sleep(20)
        os._exit(0)
    try:
        until(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text())
        assert (tmp_path / "told").read_text() == "0"
        assert client.ping() == pid
        began = time.monotonic()
        client.close()
        assert time.monotonic() - began < 4, "the sidecar saw no end of input"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_interrupt_leaves_the_client_usable(opened):
    client = opened("silent on stats")
    pid = client.ping()
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        client.stats()
    assert client.ping() == pid


def test_it_works_in_every_event_loop_and_without_stderr(binary, tmp_path):
    class Odd(asyncio.SelectorEventLoop):
        async def subprocess_exec(self, *all, **named):
            raise NotImplementedError

    async def main():
        async with AsyncUploadClient(tmp_path / "q", binary=binary()) as client:
            return await asyncio.gather(*(client.ping() for _ in range(100)))

    loop = Odd()
    stderr, sys.stderr = sys.stderr, None
    try:
        assert len(set(loop.run_until_complete(main()))) == 1
    finally:
        sys.stderr = stderr
        loop.close()


def test_a_script_that_forgets_to_close_still_ends_and_leaves_nothing(binary, tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(CLIENT / 'src')!r})\n"
        "from outtray import UploadClient\n"
        f"client = UploadClient({str(tmp_path / 'q')!r}, binary={binary()!r})\n"
        "client.configure()\nprint(client.ping())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")
    until(lambda: not pathlib.Path(f"/proc/{done.stdout.strip()}").exists())


def test_a_sidecar_of_another_protocol_version_is_refused(opened):
    client = opened("other version")
    client.ping()
    until(lambda: client._link._process is None)
    with pytest.raises(CallError, match="version 1 is not served") as caught:
        client.ping()
    assert (caught.value.code, caught.value.data["supported"]) == ("E_VERSION", [2])


def test_background_and_keep_awake_become_flags():
    from outtray._launch import launch_of

    for background, flag in ((False, "exit"), (True, "drain"), (90, "stay:90")):
        launch = launch_of("/q", None, None, background)
        assert launch.arguments == ["serve", "--dir", "/q", "--on-disconnect", flag]
        assert launch.leaves == (flag != "exit")
    for wrong in (0, -1, 1.5, "drain"):
        with pytest.raises(InvalidError, match="background"):
            launch_of("/q", None, None, wrong)
    assert launch_of("/q", None, None, False, virtual_clock=True).arguments[-1] == "--virtual-clock"
    awake = launch_of("/q", None, None, False, keep_awake=True)
    assert awake.arguments == ["serve", "--dir", "/q", "--on-disconnect", "exit", "--keep-awake"]


def test_one_in_the_background_is_let_go_and_reaped_later(opened):
    client = opened("goes on", background=True)
    pid = client.ping()
    call = client._uploads.call("ping")
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 2
    assert call.result(0)["now"] == pid
    assert pathlib.Path(f"/proc/{pid}").exists()
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
