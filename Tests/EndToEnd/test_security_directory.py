"""The queue's directory under attack: modes, planted links and files, paths that lead elsewhere."""
import os
import socket
import stat
import subprocess
import threading

import pytest

from endtoend import deadline
from endtoend.frames import RPCError
from endtoend.requests import enqueue
from endtoend.strangers import NOBODY, needs_root

SECRET = b"of somebody else"


def modes(directory):
    """The modes of the directory and of everything in it, by name."""
    places = [directory, *directory.rglob("*")]
    return {str(place.relative_to(directory)): stat.S_IMODE(place.lstat().st_mode) for place in places}


def refused_start(binary, directory):
    """The reason why `serve` does not start there: status 73, at once."""
    ended = subprocess.run([binary, "serve", "--dir", str(directory)], check=False, timeout=20,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 73, ended
    assert ended.stdout == ""
    return ended.stderr.splitlines()[-1]


def paused_body(start, server, tmp_path, size=200_000, **fields):
    """A sidecar with one paused entry, whose body is a file; the sidecar, and the body."""
    sidecar = start()
    sidecar.subscribe()
    sidecar.call("pause")
    if "data" not in fields:
        source = tmp_path / "source"
        source.write_bytes(bytes(size))
        fields["file"] = str(source)
    enqueue(sidecar, server.url("/x"), id="a", method="PUT", **fields)
    body, = (path for path in (tmp_path / "queue").glob("bodies-*/*"))
    return sidecar, body


@pytest.mark.parametrize("before", [0o755, 0o777, 0o1777, 0o500])
def test_d38_an_open_directory_is_closed(start, server, tmp_path, directory, before):
    """D38: whatever the umask and the mode that was there, the directory is 0700 and each file in it 0600,
    the socket, the lock and a database that was set aside too."""
    directory.mkdir()
    (directory / "queue.db").write_bytes(b"no database at all" * 100)
    os.chmod(directory / "queue.db", 0o666)
    os.chmod(directory, before)
    old = os.umask(0)
    try:
        sidecar, _ = paused_body(start, server, tmp_path)
    finally:
        os.umask(old)
    found = modes(directory)
    assert found.pop(".") & 0o777 == 0o700
    assert {"queue.db", "queue.db-wal", "queue.db-shm", "lock", "socket"} <= set(found)
    assert any(name.startswith("queue.db.damaged-") for name in found)
    for name, mode in found.items():
        is_folder = (directory / name).is_dir()
        assert mode == (0o700 if is_folder else 0o600), name
    assert sidecar.close() == 0


def test_d38_the_directory_of_another_user_is_refused(binary, directory):
    """D38: even to root, and nothing is made or changed in it."""
    needs_root()
    directory.mkdir(mode=0o755)
    os.chown(directory, NOBODY, NOBODY)
    assert "belongs to another user" in refused_start(binary, directory)
    assert modes(directory) == {".": 0o755}


@pytest.mark.parametrize("name", ["queue.db", "queue.db-wal", "queue.db-shm", "queue.db-journal"])
@pytest.mark.parametrize("planted", ["link", "loose link", "fifo", "directory", "device", "another user's"])
def test_d38_what_was_planted_as_the_database_is_not_touched(binary, start, directory, tmp_path, name,
                                                             planted):
    """D38: a start and a look refuse it, and what a link leads to keeps content and mode."""
    assert start().close() == 0
    victim, place = tmp_path / "victim", directory / name
    victim.write_bytes(SECRET)
    os.chmod(victim, 0o644)
    place.unlink(missing_ok=True)
    match planted:
        case "link": place.symlink_to(victim)
        case "loose link": place.symlink_to(tmp_path / "nothing")
        case "fifo": os.mkfifo(place)
        case "directory": place.mkdir()
        case "device": place.symlink_to("/dev/zero")
        case _:
            needs_root()
            place.write_bytes(b"")
            os.chown(place, NOBODY, NOBODY)
    assert str(place) in refused_start(binary, directory)
    if planted != "another user's":
        looked = subprocess.run([binary, "ls", "--dir", directory], check=False, capture_output=True,
                                timeout=20)
        assert looked.returncode == 73
    assert (victim.read_bytes(), stat.S_IMODE(victim.stat().st_mode)) == (SECRET, 0o644)
    assert not (tmp_path / "nothing").exists()


def test_d38_a_link_as_lock_or_folder_of_bodies_is_refused(binary, start, directory, tmp_path):
    """D38: neither is followed."""
    assert start().close() == 0
    bodies, = directory.glob("bodies-*")
    for place in (directory / "lock", bodies):
        kept = tmp_path / "kept"
        place.rename(kept)
        victim = tmp_path / f"victim of {place.name}"
        if kept.is_dir():
            victim.mkdir(mode=0o755)
        else:
            victim.touch(0o644)
        before = victim.stat()
        place.symlink_to(victim)
        assert str(place) in refused_start(binary, directory)
        after = victim.stat()
        assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
        place.unlink()
        kept.rename(place)
    assert start().close() == 0


def test_d38_other_names_that_were_planted_hold_up_nothing(start, directory, tmp_path):
    """D38: a FIFO where damage is noted is not waited for; a link where the socket goes is not followed."""
    directory.mkdir()
    victim = tmp_path / "victim"
    victim.write_bytes(SECRET)
    os.mkfifo(directory / "damage")
    (directory / "socket").symlink_to(victim)
    sidecar = start()
    sidecar.call("ping")
    deadline.until("the socket", lambda: stat.S_ISSOCK((directory / "socket").lstat().st_mode))
    assert victim.read_bytes() == SECRET
    assert sidecar.close() == 0


@pytest.mark.parametrize("planted", ["link", "fifo", "directory", "device", "socket", "short", "gone"])
def test_d30_what_was_planted_as_a_body_is_not_sent(start, server, tmp_path, planted):
    """D30: the entry settles `file`, and no byte of what lies elsewhere goes out; others are sent."""
    sidecar, body = paused_body(start, server, tmp_path)
    victim = tmp_path / "victim"
    victim.write_bytes(SECRET * 20_000)
    body.unlink()
    listener = socket.socket(socket.AF_UNIX)
    match planted:
        case "link": body.symlink_to(victim)
        case "fifo": os.mkfifo(body)
        case "directory": body.mkdir()
        case "device": body.symlink_to("/dev/zero")
        case "socket":
            listener.bind(f"/proc/self/fd/{os.open(body.parent, os.O_PATH)}/{body.name}")
        case "short": body.write_bytes(SECRET)
    sidecar.call("resume")
    outcome = sidecar.settled("a")
    assert (outcome["kind"], outcome["error"]["errorKind"]) == ("error", "file")
    assert not [request for request in server.seen() if SECRET in request.body]
    enqueue(sidecar, server.url("/y"), id="b", data=1)
    assert sidecar.settled("b")["kind"] == "completed"
    listener.close()


def test_d38_a_fifo_as_a_body_does_not_hold_up_the_database(start, server, tmp_path):
    """D38: the body of `data` is read to compare it; what is no file counts as another body."""
    text = "x" * 100_000
    sidecar, body = paused_body(start, server, tmp_path, data=text)
    body.unlink()
    os.mkfifo(body)
    answer = sidecar.send("enqueue", {"id": "a", "key": "k", "request": {
        "url": server.url("/x"), "method": "PUT", "data": text}})
    assert sidecar.result(answer)["disposition"] == "replaced"


def test_d29_no_path_leads_into_the_queue(sidecar, directory, tmp_path):
    """D29: not by `..`, a link, a descriptor or the root of a process; what it holds is not sent to anybody,
    and never read, since closing it would drop the locks of the database."""
    (tmp_path / "link").symlink_to(directory / "queue.db")
    (tmp_path / "folder").symlink_to(directory)
    folder = os.open(directory, os.O_RDONLY)
    pid = sidecar.process.pid
    for path in (f"{directory}/../{directory.name}/queue.db", f"{directory}/./queue.db",
                 f"/{directory}//queue.db", tmp_path / "link", tmp_path / "folder" / "lock",
                 f"/proc/{pid}/root{directory}/queue.db",
                 f"/proc/{os.getpid()}/fd/{folder}/queue.db", f"file://{directory}/%2e%2e/queue/queue.db"):
        for staging in ("copy", "move", "reference"):
            with pytest.raises(RPCError) as refused:
                enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file=str(path), staging=staging)
            assert refused.value.code == "E_INVALID", path
    os.close(folder)
    assert sidecar.rows() == []
    assert (directory / "queue.db").exists()


@pytest.mark.parametrize("path", [
    "/tmp/a\0b", "file:///tmp/a%00b", "/tmp/a\nb", "/" + "x" * 300, "/x" * 5000, "/proc/self/mem",
    "/proc/self/environ", "/proc/self/fd/0", "/dev/stdin", "/dev/full", "file://elsewhere/etc/hosts",
    "file:/etc/hosts", "http://127.0.0.1/", "/etc/hosts/../hosts", "~/x", "./x"])
def test_d29_paths_that_name_no_file_are_refused(sidecar, path):
    """D29, A-FILE-04: at once, by name, with nothing kept; the conversation goes on."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", method="PUT", file=path)
    assert refused.value.code in ("E_INVALID", "E_FILE_MISSING")
    assert refused.value.path == "request.file"
    assert sidecar.rows() == []
    assert sidecar.call("ping")["now"] > 0


def test_d29_a_file_that_is_swapped_is_sent_as_itself_or_refused(sidecar, server, directory, tmp_path):
    """D29: between the look and the read its name stands for a device, a FIFO, the database, another file:
    what is read is what was looked at, so no body is anything else, and nothing waits."""
    path, spare = tmp_path / "swapped", tmp_path / "spare"
    honest = [bytes([65 + n]) * 100_000 for n in range(2)]
    for n, content in enumerate(honest):
        (tmp_path / f"honest{n}").write_bytes(content)
    os.mkfifo(tmp_path / "fifo")
    leads = [tmp_path / "honest0", "/dev/zero", tmp_path / "honest1", tmp_path / "fifo",
             directory / "queue.db"]
    path.symlink_to(leads[0])
    over = threading.Event()

    def swap():
        while not over.is_set():
            for lead in leads:
                spare.symlink_to(lead)
                spare.rename(path)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        asked = [sidecar.send("enqueue", {"id": str(n), "key": "k", "request": {
            "url": server.url("/x"), "method": "PUT", "file": str(path)}}) for n in range(300)]
        answers = [sidecar.answer(id, 60) for id in asked]
    finally:
        over.set()
        swapper.join()
    taken = [answer["result"]["id"] for answer in answers if "result" in answer]
    codes = {answer["error"]["data"]["code"] for answer in answers if "error" in answer}
    assert codes <= {"E_INVALID", "E_FILE_MISSING"}
    for id in taken:
        assert sidecar.settled(id, seconds=60)["kind"] == "completed"
    assert all(request.body in honest for request in server.seen())
    assert len(server.seen()) == len(taken)
