"""`outtray watch` on a terminal: what is seen of a queue, and what keys do."""
import pathlib
import re

from endtoend import deadline, rawserver
from endtoend.hosts import role
from endtoend.requests import enqueue
from endtoend.watching import fill, quit, read_slowly


def test_rows_counts_and_who_serves(sidecar, server, gate, watch):
    """The header counts and names the process; rows that run stand first, the others say why they wait."""
    fill(sidecar, server, 6)
    server.wait_requests(3)
    terminal = watch()
    shown = terminal.wait_for("3 running", "3 queued", f"served by process {sidecar.process.pid}", "no slot")
    assert re.search(r"note-0\s+running\s+█", shown)
    assert re.search(r"note-5\s+queued\s+no slot", shown)
    gate.set()
    shown = terminal.wait_for("6 completed", absent=("running ", "no slot"))
    assert shown.count("200, not acknowledged") == 6
    sidecar.ack(*sidecar.wait_events("settled", 6))
    terminal.wait_for("The queue is empty.", "no entries")
    quit(terminal)


def test_progress_and_speed_are_seen(sidecar, server, tmp_path, watch):
    """A bar grows as the bytes go, with speed and time left."""
    source = tmp_path / "film"
    source.write_bytes(bytes(24 << 20))
    server.on("/slow", read_slowly(4 << 20))
    enqueue(sidecar, server.url("/slow"), id="film", method="PUT", file=str(source))
    terminal = watch(columns=120)
    seen = set()

    def look():
        line = terminal.line_of("film") or ""
        found = re.search(r"(\d+)%\s+24\.0 MiB\s+[0-9.]+ [KM]iB/s\s+\d+s", line)
        if found:
            seen.add(int(found[1]))
        return len(seen) >= 3
    deadline.until("three percentages with speed and time left", look, 30)
    assert max(seen) > min(seen)
    quit(terminal)


def test_keys_pause_and_resume(sidecar, server, gate, watch):
    """p and r are about the key of the row, P and R about the whole queue."""
    fill(sidecar, server, 3, "note")
    fill(sidecar, server, 2, "photo")
    terminal = watch()
    terminal.wait_for("3 running", "2 queued")
    terminal.type("p")
    terminal.wait_for("paused keys: note", "3 paused", "key paused")
    sidecar.wait_state("photo-0", "running")
    assert sidecar.row("note-0")["state"] == "paused"
    # Those that run stand first now; the paused ones are below.
    terminal.type("end")
    terminal.wait_for("▸ note-2")
    terminal.type("r")
    terminal.wait_for("resumed: key note", absent=("paused keys",))
    terminal.type("P")
    terminal.wait_for("queue paused", "5 paused")
    terminal.type("R")
    terminal.wait_for("3 running", absent=("queue paused",))
    quit(terminal)


def test_cancel_asks_first(sidecar, server, gate, watch):
    """c asks; n leaves the entry, y cancels it, and its host hears of it. What has settled is left alone."""
    fill(sidecar, server, 4)
    terminal = watch()
    terminal.wait_for("no slot")
    terminal.type("end")
    terminal.wait_for("▸ note-3")
    terminal.type("c")
    terminal.wait_for("cancel note-3? y/n")
    terminal.type("n")
    terminal.wait_for("? help", absent=("y/n",))
    assert sidecar.row("note-3")["state"] == "queued"
    terminal.type("c")
    terminal.wait_for("cancel note-3? y/n")
    terminal.type("y")
    assert sidecar.settled("note-3")["kind"] == "cancelled"
    terminal.wait_for("cancelled: note-3", "1 cancelled")
    terminal.type("c")
    terminal.wait_for("it has settled; outtray cancel forgets it")
    assert sidecar.row("note-3")["state"] == "cancelled"
    quit(terminal)


def test_retry_goes_now(sidecar, server, watch):
    """D44: t tries the entry of the row now, whatever it waits for."""
    server.on("/flaky", rawserver.reply(500), rawserver.reply(200))
    backoff = {"backoff": {"baseMs": 600_000, "maxMs": 600_000, "jitter": 0}}
    enqueue(sidecar, server.url("/flaky"), id="flaky", retry=backoff)
    terminal = watch()
    terminal.wait_for("retry in 9 min")
    terminal.type("t")
    assert sidecar.settled("flaky")["kind"] == "completed"
    terminal.wait_for("1 completed", "200, not acknowledged")
    quit(terminal)


def test_credentials_and_outages_are_named(sidecar, server, watch):
    """The reasons are those of explain, in short words."""
    server.on("/secret", rawserver.reply(401))
    enqueue(sidecar, server.url("/secret"), id="secret")
    sidecar.call("setNetwork", type="cellular")
    enqueue(sidecar, server.url("/wifi"), id="wifi", wifiOnly=True)
    terminal = watch()
    terminal.wait_for("wants new credentials", "waits for wifi", "1 awaiting-auth")
    sidecar.call("setWifiOnly", wifiOnly=True)
    terminal.wait_for("wifi only, network cellular")
    quit(terminal)


def test_keys_move_and_filter(sidecar, server, gate, watch):
    """Arrows, pages and ends move; f and s choose what is shown."""
    fill(sidecar, server, 60)
    terminal = watch(rows=14)
    terminal.wait_for("▸ note-0")
    terminal.type("j")
    terminal.wait_for("▸ note-1")
    terminal.type("up")
    terminal.wait_for("▸ note-0")
    terminal.type("page down")
    terminal.wait_for("note-15", absent=("note-0 ",))
    terminal.type("end")
    terminal.wait_for("▸ note-59")
    terminal.type("home")
    terminal.wait_for("▸ note-0")
    terminal.type("f")
    terminal.wait_for("only running", absent=("no slot",))
    terminal.type("f")
    terminal.wait_for("only waiting", "▸ note-3", absent=("note-0 ",))
    terminal.type("f")
    terminal.wait_for("only failed", "No entry of those.")
    terminal.type("f")
    terminal.wait_for("note-0", absent=("only failed",))
    terminal.type("ss")
    terminal.wait_for("newest first", "▸ note-59")
    terminal.type("?")
    terminal.wait_for("pause, resume the queue", "any key goes back")
    terminal.type("escape")
    terminal.wait_for("? help", "▸ note-59")
    quit(terminal)


def test_a_key_of_its_own(sidecar, server, gate, watch):
    """--key: only entries of this key are shown and counted."""
    fill(sidecar, server, 3, "note")
    fill(sidecar, server, 2, "photo")
    terminal = watch("--key", "photo")
    terminal.wait_for("2 queued", "photo-1", "key photo", absent=("note", "running"))
    quit(terminal)


def test_the_end_of_the_sidecar_is_shown_and_the_next_is_found(start, server, gate, watch):
    """Nobody serves: the database is shown, keys change it, and whoever comes is attached to."""
    first = start()
    fill(first, server, 4)
    terminal = watch()
    terminal.wait_for(f"served by process {first.process.pid}", "3 running")
    first.kill()
    terminal.wait_for("nobody serves this queue", "nobody serves", "note-3")
    terminal.type("P")
    terminal.wait_for("queue paused", "4 paused")
    terminal.type("R")
    terminal.wait_for("resumed: the whole queue", absent=("queue paused",))
    second = start()
    assert role(second) == "owner"
    terminal.wait_for(f"served by process {second.process.pid}", "3 running", "no slot")
    quit(terminal)


def test_watching_neither_keeps_a_queue_alive_nor_ends_it(start, server, gate, watch):
    """Section 5: a watch is no host. The owner ends with its own, and goes on when the watch has gone."""
    sidecar = start("--on-disconnect", "exit")
    fill(sidecar, server, 2)
    terminal, other = watch(), watch()
    for shown in (terminal, other):
        shown.wait_for(f"served by process {sidecar.process.pid}")
    quit(other)
    assert sidecar.call("ping")["now"] > 0
    assert sidecar.close() == 0
    terminal.wait_for("nobody serves this queue")
    quit(terminal)


def test_watching_takes_no_outcome(start, server, watch):
    """Outcomes wait for a host, however long somebody has watched; deliveries are not counted up."""
    sidecar = start()
    assert role(sidecar) == "owner"
    terminal = watch()
    terminal.wait_for("served by")
    enqueue(sidecar, server.url("/"), id="a")
    terminal.wait_for("1 completed", "200, not acknowledged")
    quit(terminal)
    sidecar.subscribe("settled")
    assert sidecar.settled("a")["deliveries"] == 1


def test_a_large_queue_needs_no_more_memory(start, server, gate, watch):
    """Only pages are read: 6,000 entries take no more memory than 200, and keys are answered as before."""
    sidecar = start()
    fill(sidecar, server, 200)
    terminal = watch()
    terminal.wait_for("197 queued")
    terminal.type("end")
    terminal.wait_for("▸ note-199")
    small = resident(terminal)
    for ids in [range(at, at + 500) for at in range(0, 6000, 500)]:
        sent = [sidecar.send("enqueue", {"key": "more", "id": f"more-{number}",
                                         "request": {"url": server.url("/held")}}) for number in ids]
        for id in sent:
            sidecar.result(id, 60)
    terminal.wait_for("6197 queued")
    terminal.type("end")
    terminal.wait_for("▸ more-5999")
    terminal.type("home")
    terminal.wait_for("▸ note-0")
    assert resident(terminal) - small < 2 << 20
    quit(terminal)


def resident(terminal):
    status = pathlib.Path(f"/proc/{terminal.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024
