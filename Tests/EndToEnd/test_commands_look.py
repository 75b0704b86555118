"""Commands for people that read a queue: from its database, and from who serves it."""
import re
import threading

import pytest

from endtoend import deadline, rawserver
from endtoend.commands import SECRET
from endtoend.requests import enqueue
from endtoend.terminal import Terminal

NOWHERE = "http://127.0.0.1:1/"


@pytest.fixture
def queue(start, server):
    """A queue with an entry of every kind, without a process: waits, in backoff, paused, parked, an error,
    completed; the secret stands in a query, a header, a body, and in an answer's header and body."""
    server.on("/bad", rawserver.reply(422, headers=[("X-Token", SECRET)], body=SECRET.encode()))
    server.on("/good", rawserver.reply(201, headers=[("X-Token", SECRET)], body=SECRET.encode()))
    server.on("/auth", rawserver.reply(401))
    server.on("/busy", rawserver.reply(503))
    sidecar = start()
    sidecar.call("pause", keys=["held"])
    add = {"headers": {"Authorization": SECRET}, "data": {"secret": SECRET}}
    enqueue(sidecar, server.url(f"/held?{SECRET}"), id="held", key="held", **add)
    enqueue(sidecar, server.url(f"/busy?{SECRET}"), id="busy",
            retry={"backoff": {"baseMs": 3_600_000, "maxMs": 3_600_000, "jitter": 0}}, **add)
    for name, state in (("auth", "awaiting-auth"), ("bad", "error"), ("good", "completed")):
        enqueue(sidecar, server.url(f"/{name}?{SECRET}"), id=name, vars={"n": 1.0}, **add)
        sidecar.wait_state(name, state)
    deadline.until("busy waits", lambda: "nextAttemptAt" in sidecar.row("busy"))
    rows = sidecar.rows()
    assert sidecar.close() == 0
    return {row["id"]: row for row in rows}


def test_ls_tells_the_rows_of_the_wire(command, queue, start):
    """ls --json gives the rows of getRequests, alike with and without a process; filters and limit hold."""
    def rows(*arguments):
        return command.json("ls", *arguments)

    told = {row["id"]: row for row in rows()}
    # When the next attempt is comes from two clocks that are read one after the other.
    assert abs(told["busy"].pop("nextAttemptAt") - queue["busy"].pop("nextAttemptAt")) < 1000
    assert told == queue
    assert [row["id"] for row in rows("--state", "error")] == ["bad"]
    assert [row["id"] for row in rows("--key", "held")] == ["held"]
    assert [row["id"] for row in rows("--limit", "2")] == ["held", "busy"]
    assert rows("--key", "nothing") == []
    sidecar = start()
    sidecar.call("pause")
    assert rows() == sidecar.rows()


def test_ls_tells_why(command, queue):
    """ls for people: the state, and when the next attempt is or why there is none."""
    lines = {line.split()[1]: line for line in command("ls").output.splitlines()}
    assert lines["ID"].split()[:3] == ["STATE", "ID", "KEY"]
    assert "its key is paused" in lines["held"]
    assert re.search(r"next attempt in 59 min", lines["busy"])
    assert "the server refused the credentials" in lines["auth"]
    assert "error http 422" in lines["bad"]
    assert "completed 201, not acknowledged" in lines["good"]


def test_ls_tells_how_far_a_live_transfer_is(command, start, server, tmp_path):
    """ls, show: the bytes of an attempt in flight come from the process that serves the queue."""
    gate = threading.Event()
    server.on("/held", rawserver.hold(gate))
    source = tmp_path / "big"
    source.write_bytes(bytes(200_000))
    sidecar = start()
    enqueue(sidecar, server.url("/held"), id="a", file=str(source))
    deadline.until("bytes have left", lambda: sidecar.row("a")["bytesSent"] > 0)
    row, = command.json("ls")
    assert row["state"] == "running" and row["bytesSent"] > 0
    assert command.json("show", "a")[0]["row"]["bytesSent"] > 0
    assert command.json("explain", "a") == [{"id": "a", "state": "running", "gates": []}]
    gate.set()


def test_control_characters_are_made_harmless(command, start):
    """ls, show, log: an id, a key or vars cannot move the cursor, nor forge a line; JSON keeps them."""
    nasty = "\x1b[2Jx\n\u202egnp\u200b"
    sidecar = start()
    sidecar.call("pause")
    enqueue(sidecar, NOWHERE, id=nasty, key=nasty, vars={"v": nasty})
    sidecar.call("cancel", id=nasty)
    for ended in (command("ls"), command("show", nasty), command("log"), command("explain", nasty)):
        assert not set(nasty) - set("[2Jxgnp") & set(ended.output.replace("\n", ""))
        assert "\\u{1b}[2Jx\\u{a}\\u{202e}gnp\\u{200b}" in ended.output
    assert command.json("ls")[0]["id"] == nasty
    refused = command("show", "\x1b[31m", status=1)
    assert refused.reason == "\\u{1b}[31m: names no entry"


def test_d38_show_tells_everything_but_secrets(command, queue):
    """D38: show has names of headers, the URL without its query, the length of the body."""
    shown, = command.json("show", "bad")
    assert shown["row"] == queue["bad"]
    assert shown["request"]["headers"] == ["Authorization"] and shown["request"]["url"].endswith("/bad")
    assert shown["body"] == {"kind": "data", "bytes": queue["bad"]["totalBytes"]}
    outcome, = shown["outcomes"]
    assert outcome["error"]["response"] == {"status": 422, "bodyTruncated": False}
    assert (outcome["error"]["errorKind"], outcome["url"]) == ("http", shown["request"]["url"])
    text = command("show", "held").output
    assert "Authorization" in text and "its key is paused" in text.lower()
    assert command("show", "nobody", status=1).reason == "nobody: names no entry"


def test_explain_speaks_in_sentences(command, queue, start):
    """explain: each gate with when it opens; what a live process knows comes from there."""
    text = command("explain", "busy").output
    assert re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*\(in 59 min", text)
    assert "Nobody serves the queue" in text
    assert "outtray headers set gives new ones" in command("explain", "auth").output
    assert "it has settled" in command("explain", "good").output
    told, = command.json("explain", "held")
    assert [gate["gate"] for gate in told["gates"]] == ["key"] and told["served"] is False
    sidecar = start()
    sidecar.call("ping")
    assert command.json("explain", "held") == [sidecar.call("explain", id="held")]
    sidecar.call("setNetwork", type="none")
    sidecar.call("pause")
    enqueue(sidecar, NOWHERE, id="wifi", wifiOnly=True)
    assert [gate["gate"] for gate in command.json("explain", "wifi")[0]["gates"]] == ["queue", "network"]
    for _ in range(2):
        assert command("explain", "nobody", status=1).reason == "nobody: names no entry"
        sidecar.kill()


def test_stats_are_the_wires(command, queue, start):
    """stats: the database counts entries and outcomes; a live process tells all of its numbers."""
    alone, = command.json("stats")
    assert alone["entries"]["error"] == alone["entries"]["completed"] == alone["entries"]["paused"] == 1
    assert alone["outcomes"]["unacknowledged"] == 2 and alone["served"] is False
    sidecar = start()
    told = sidecar.call("stats")
    live, = command.json("stats")
    assert set(live) == set(told) and live["entries"] == told["entries"]
    assert "attempts.started" in command("stats").output


def test_stats_as_openmetrics(command, queue, start):
    """stats --openmetrics: a whole page, also of a queue that nobody serves; not together with --json."""
    page = command("stats", "--openmetrics").output
    assert "outtray_served 0\n" in page and page.endswith("# EOF\n")
    assert "outtray_attempts_started" not in page
    start().call("ping")
    page = command("stats", "--openmetrics").output
    assert "outtray_served 1\n" in page and "outtray_attempts_started_total 0\n" in page
    assert command("stats", "--openmetrics", "--json", status=64).reason.startswith("--openmetrics: ")


def test_log_tells_what_is_recorded_and_takes_nothing(command, queue, start):
    """log: diagnostics and outcomes by time; a host still gets both."""
    for _ in range(2):
        lines = command.json("log")
        assert [line["params"]["at"] for line in lines] == sorted(line["params"]["at"] for line in lines)
        settled = [line["params"] for line in lines if line["method"] == "settled"]
        assert {outcome["id"] for outcome in settled} == {"bad", "good"}
        assert [line["params"]["level"] for line in lines if line["method"] == "diagnostic"] == ["info"]
        assert all(set(outcome.get("response", {})) <= {"status", "bodyTruncated"} for outcome in settled)
    assert "good: completed 201" in command("log").output
    sidecar = start()
    sidecar.subscribe("settled")
    assert sidecar.settled("bad")["deliveries"] == 1
    assert sidecar.call("takeDiagnostics")["records"]


@pytest.mark.parametrize("name, arguments", [
    ("ls", []), ("show", ["held"]), ("explain", ["held"]), ("stats", []), ("log", []), ("verify", [])])
def test_reading_changes_nothing(command, queue, directory, name, arguments):
    """D39: no byte of the directory is another afterwards, and nothing was added to it."""
    def contents():
        # The index of the log is memory that readers share.
        return {path: path.read_bytes() for path in directory.rglob("*")
                if path.is_file() and not path.name.endswith("-shm")}

    before = contents()
    command(name, *arguments)
    assert contents() == before


def in_terminal(words, columns, **env):
    """The output of a command whose stdout is a terminal of so many columns."""
    terminal = Terminal(words, columns, env=env)
    assert terminal.wait_exit() == 0
    terminal.close()
    return terminal.written.decode()


def test_tables_fit_the_terminal_and_colours_are_for_it_alone(binary, command, queue, directory):
    """Colours on a terminal only, and not with NO_COLOR; no line is wider than the terminal."""
    words = [binary, "ls", "--dir", str(directory)]
    coloured = in_terminal(words, 60)
    assert "\x1b[31merror\x1b[0m" in coloured
    plain = in_terminal(words, 60, NO_COLOR="1")
    assert "\x1b" not in plain and "\x1b" not in command("ls").output
    assert plain == re.sub("\x1b\\[[0-9]+m", "", coloured)
    assert max(map(len, plain.splitlines())) <= 60 < max(map(len, command("ls").output.splitlines()))
