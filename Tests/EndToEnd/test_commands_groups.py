"""Commands for people, and what belongs together: groups, lanes, and entries that come after others."""
import os
import select
import socket
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.commands import hears_of

NOWHERE = "http://127.0.0.1:1/"


@pytest.fixture(params=["served", "alone"])
def served(request, start):
    """A paused queue, served or not; the process that serves it, or None."""
    sidecar = start()
    sidecar.call("pause")
    if request.param == "served":
        return sidecar
    assert sidecar.close() == 0
    return None


def add(command, id, *words):
    return command("add", NOWHERE, "--id", id, *words)


def test_d45_d47_d48_add_says_what_an_entry_belongs_to(command, served):
    """D45, D47, D48, D49: add takes a group, a lane, what comes before and a limit; show and ls tell them."""
    add(command, "a", "--group", "holiday", "--lane", "album")
    add(command, "b", "--group", "holiday", "--lane", "album", "--after", "a", "--deadline-ms", "60000")
    add(command, "c")
    assert [row["id"] for row in command.json("ls", "--group", "holiday")] == ["a", "b"]
    assert [row["id"] for row in command.json("ls", "--group", "holiday", "--key", "other")] == []
    assert command.json("ls", "--group", "nothing") == []
    shown, = command.json("show", "b")
    assert (shown["row"]["group"], shown["row"]["lane"], shown["deadlineMs"]) == ("holiday", "album", 60000)
    assert shown["after"] == [{"id": "a", "state": "paused", "met": False}]
    lines = [" ".join(line.split()) for line in command("show", "b").output.splitlines()]
    for line in ("group holiday, weighs as its bytes", "lane album", "comes after a (paused)",
                 "deadline 1 min from its first attempt"):
        assert line in lines
    assert "group" not in command("show", "c").output and command.json("show", "c")[0]["after"] == []


def test_show_tells_of_a_predecessor_that_is_gone(command, start):
    """D45: one that was cancelled and forgotten is gone; the weight in the group is told."""
    sidecar = start()
    sidecar.call("pause")
    for id, more in (("a", {}), ("b", {"after": ["a"], "weight": 2.5, "group": "g"})):
        sidecar.call("enqueue", id=id, key="k", request={"url": NOWHERE}, **more)
    command("cancel", "a")
    command("cancel", "a")
    shown, = command.json("show", "b")
    assert (shown["after"], shown["weight"]) == ([{"id": "a", "met": False}], 2.5)
    text = command("show", "b").output
    assert "comes after  a (gone)" in text and "g, weight 2.5" in text


@pytest.mark.parametrize("words, text", [
    (["--after", "nobody"], "after[0]: "), (["--group", ""], "group: must"),
    (["--lane", "x" * 257], "lane: "),
    (["--deadline-ms", "0"], "--deadline-ms: must be a number"), (["--after", "me"], "after[0]: must not"),
])
def test_add_names_what_is_wrong_with_links(command, served, words, text):
    """D10, D45: 64, the field is named, nothing is kept."""
    assert text in command("add", NOWHERE, "--id", "me", *words, status=64).reason
    assert command.json("ls") == []


def test_d48_pause_resume_and_cancel_a_group(command, served):
    """D48: of groups beside keys; a group whose members have settled is forgotten; another one is named."""
    for id, group in (("a", "g"), ("b", "g"), ("c", "h")):
        add(command, id, "--group", group)
    assert command("pause", "k", "--group", "g", "--group", "h").output == "paused: k, group g, group h\n"
    assert command("resume").output == "resumed: the whole queue\n"
    assert command("resume", "--group", "h").output == "resumed: group h\n"
    assert [gate["gate"] for gate in command.json("explain", "a")[0]["gates"]] == ["group"]
    assert [gate["gate"] for gate in command.json("explain", "c")[0]["gates"]] != ["group"]
    ended = command("cancel", "c", "--group", "g", "--group", "nobody", status=1)
    assert ended.output == "cancelled: c\ncancelled: group g\n" and ended.reason == "nobody: names no group"
    assert {row["state"] for row in command.json("ls")} == {"cancelled"}
    assert command("cancel", "--group", "g").output == "forgotten: group g\n"
    assert [row["id"] for row in command.json("ls")] == ["c"]
    assert "needs an ID or --group" in command("cancel", status=64).reason


def test_d48_explain_tells_of_a_group(command, served):
    """D48: counts, progress and what holds each live member; the same with and without a process."""
    for id in ("a", "b", "c"):
        add(command, id, "--group", "g", *(["--after", "b"] if id == "c" else []))
    command("cancel", "a")
    told, = command.json("explain", "--group", "g")
    assert told.pop("served", True) is (served is not None)
    if served:
        assert told == served.call("explain", group="g")
    counts = {name: count for name, count in told["counts"].items() if count}
    assert (told["group"], counts) == ("g", {"paused": 2, "cancelled": 1})
    gates = {entry["id"]: [gate["gate"] for gate in entry["gates"]] for entry in told["entries"]}
    assert gates == {"b": ["queue"], "c": ["queue", "dependency"]}
    lines = command("explain", "--group", "g").output.splitlines()
    assert lines[0] == "Group g: 2 paused, 1 cancelled; 0 % is done." and "c is paused." in lines
    unserved = "- Nobody serves the queue: nothing is sent until outtray serve does."
    assert (unserved in lines) is (served is None)
    command("cancel", "b", "c")
    assert "every member has settled" in command("explain", "--group", "g").output
    assert command("explain", "--group", "nobody", status=1).reason == "nobody: names no group"
    assert "not together" in command("explain", "a", "--group", "g", status=64).reason
    assert "needs an ID or --group" in command("explain", status=64).reason


def test_d48_log_tells_how_a_group_ended(command, start, server):
    """D48: log has the outcome of a group; log -f tells once when its last member settles."""
    server.on("/bad", rawserver.reply(422))
    server.on("/good", rawserver.reply(200))
    start().close()
    going = command.begin("log", "-f")
    sidecar = start()

    deadline.until("it has attached", lambda: hears_of(sidecar, going, "probe"))
    sidecar.call("enqueueAll", entries=[
        {"id": name, "key": "k", "group": "g\nh", "request": {"url": server.url(f"/{name}")}}
        for name in ("bad", "good")])
    line = going.wait_line("the group's end", lambda line: "  group " in line)
    assert line.endswith("group    group g\\u{a}h: 1 completed, 1 error")
    sidecar.wait_state("good", "completed")
    recorded, = [line["params"] for line in command.json("log") if line["method"] == "groupSettled"]
    assert recorded["counts"] == {"completed": 1, "error": 1, "cancelled": 0}
    assert recorded["failed"] == ["bad"]
    assert "group g\\u{a}h: 1 completed, 1 error; failed: bad" in command("log").output
    assert len([line for line in going.lines if "  group " in line]) == 1


@pytest.mark.parametrize("words", [["a"], ["--group", "g"]])
def test_a_cancel_whose_answer_is_lost_forgets_nothing(command, directory, start, words):
    """Section 5: asked again, for its process went away under it, a cancel leaves what it has settled: its
    outcome is the host's."""
    sidecar = start()
    sidecar.call("pause")
    sidecar.call("enqueue", id="a", key="k", group="g", request={"url": NOWHERE})
    with LosesAnswer(directory, b'"cancel"'):
        assert command("cancel", *words).output.startswith("cancelled: ")
    row, = command.json("ls")
    assert row["state"] == "cancelled"
    assert {line["method"] for line in command.json("log")} >= {"settled", "groupSettled"}


class LosesAnswer:
    """Stands at the socket of a queue and lets one connection through; once a request that holds `word` was
    answered, it closes that connection in place of the answer, and leaves the socket to the queue."""

    def __init__(self, directory, word):
        self.place, self.real, self.word = directory / "socket", directory / "real", word
        self.place.rename(self.real)
        self.folder = os.open(directory, os.O_RDONLY)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"/proc/self/fd/{self.folder}/socket")
        self.listener.listen()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        command, _ = self.listener.accept()
        with command, socket.socket(socket.AF_UNIX) as queue:
            queue.connect(f"/proc/self/fd/{self.folder}/real")
            is_asked = False
            while True:
                for ready in select.select([command, queue], [], [])[0]:
                    data = ready.recv(65536)
                    if ready is command:
                        is_asked = is_asked or self.word in data
                        queue.sendall(data)
                    elif is_asked or not data:
                        self.real.rename(self.place)
                        return
                    else:
                        command.sendall(data)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.thread.join(deadline.SECONDS)
        assert not self.thread.is_alive()
        self.listener.close()
        os.close(self.folder)
