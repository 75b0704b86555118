"""Files that a host gives away: when their name goes, and when it stays."""
import random
import time

import pytest

from endtoend import deadline
from endtoend.frames import RPCError
from endtoend.requests import descriptor, enqueue


@pytest.mark.parametrize("size", [0, 1000, 300_000])
def test_d28_a_moved_file_is_gone_when_it_is_answered(sidecar, server, tmp_path, size):
    """D28: and its bytes are what is sent."""
    path = tmp_path / "source"
    content = random.Random(size).randbytes(size)
    path.write_bytes(content)
    enqueue(sidecar, server.url("/"), id="a", file=str(path), staging="move")
    assert not path.exists()
    sidecar.settled("a")
    assert server.seen("/")[0].body == content


def test_d28_the_files_of_a_form_can_be_moved(sidecar, server, tmp_path):
    """D28: form paths too."""
    path = tmp_path / "source"
    path.write_bytes(b"form bytes")
    enqueue(sidecar, server.url("/"), id="a", staging="move",
            form=[{"name": "f", "contentType": "t/t", "path": str(path)}])
    assert not path.exists()
    sidecar.settled("a")
    assert b"form bytes" in server.seen("/")[0].body


def test_d29_a_symbolic_link_is_not_moved(sidecar, server, tmp_path):
    """D29: E_INVALID names the field; link and file stay."""
    path, link = tmp_path / "source", tmp_path / "link"
    path.write_bytes(b"x")
    link.symlink_to(path)
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, server.url("/"), id="a", file=str(link), staging="move")
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "request.file")
    assert link.is_symlink() and path.read_bytes() == b"x"


@pytest.mark.parametrize("seed", range(4))
def test_d28_a_kill_leaves_the_file_or_an_entry_that_owns_it(start, server, tmp_path, seed):
    """D28: at whatever instant; after the next start it is one of the two, and nothing is half."""
    chance = random.Random(seed)
    contents = {}
    for round in range(8):
        sidecar = start()
        sidecar.call("pause")
        ids = [f"{round}-{n}" for n in range(6)]
        for id in ids:
            contents[id] = chance.randbytes(chance.choice([100, 100_000, 700_000]))
            (tmp_path / id).write_bytes(contents[id])
        for id in ids:
            request = descriptor(server.url(f"/{id}"), file=str(tmp_path / id), staging="move")
            sidecar.send("enqueue", {"id": id, "key": "k", "request": request})
        time.sleep(chance.uniform(0, 0.02))
        sidecar.kill()
        answered = {frame["result"]["id"] for frame in sidecar.frames
                    if "generation" in frame.get("result", {})}
        assert all(not (tmp_path / id).exists() for id in answered)
    last = start()
    last.subscribe()
    kept = {row["id"] for row in last.rows()}
    deadline.until("unfinished removals are finished", lambda: all(
        not (tmp_path / id).exists() for id in kept))
    for id in contents:
        assert id in kept or (tmp_path / id).read_bytes() == contents[id]
    last.call("resume")
    for id in kept:
        last.settled(id)
        assert server.seen(f"/{id}")[0].body == contents[id]
