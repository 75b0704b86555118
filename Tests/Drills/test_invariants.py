"""The comparison of the ledgers notices each thing that may not be."""
import dataclasses

import pytest

from drills import invariants, ledger
from drills.bodies import sha256
from drills.roughserver import Received

BODY = sha256(b"x")


class Server:
    def __init__(self, *received):
        self.received = list(received)

    def by_entry(self):
        found = {}
        for request in self.received:
            found.setdefault(request.entry, []).append(request)
        return found


def request(number, at, said=200, **members):
    made = Received("a", "0", f"r{number}", "key", at, False, BODY, True, said)
    return dataclasses.replace(made, **members)


def line(what, at, **members):
    return {"what": what, "at": at, "host": "h", **members}


ASK = line("ask", 0, id="a", bodies={"0": BODY}, moves=None, source=None)
ACCEPTED = line("accepted", 1, id="a", disposition="created")
ACKED = line("acked", 6, eventIds=["e"])


def outcome(at=5, **members):
    told = {"id": "a", "eventId": "e", "kind": "completed", "attempts": 2, "deliveries": 1, "requestId": "r2",
            "status": 200}
    return line("outcome", at, **{**told, **members})


GOOD = [ASK, ACCEPTED, outcome(), ACKED]
TRIES = (request(1, 2, 503), request(2, 3))


def compare(lines, *received, **how):
    return invariants.compare(lines, Server(*received), **how)


def test_what_is_right_is_not_complained_about():
    """Two attempts, one outcome, acknowledged."""
    found = compare(GOOD, *TRIES)
    assert (found.accepted, found.outcomes, found.lost, found.doubled, found.others) == (1, 1, [], [], [])


@pytest.mark.parametrize("lines, received", [
    ([ASK, ACCEPTED], ()),
    ([{**ASK, "moves": "/no/such/file"}], ()),
], ids=["no outcome", "a moved file of a call that came to nothing"])
def test_a_loss_is_noticed(lines, received):
    """Accepted and no outcome; not accepted and the file gone."""
    assert compare(lines, *received).lost


@pytest.mark.parametrize("lines, received", [
    ([*GOOD, outcome(eventId="other")], TRIES),
    ([*GOOD, outcome(7, deliveries=2)], TRIES),
    (GOOD, (*TRIES, request(3, 11))),
], ids=["a second outcome", "told after the acknowledgement", "sent after the outcome"])
def test_what_is_doubled_is_noticed(lines, received):
    """A second outcome, a delivery or a request too many."""
    assert compare(lines, *received).doubled


def test_a_delivery_that_a_slow_host_reads_late_is_none_too_many():
    """Its number is not above that of the one that was acknowledged."""
    assert not compare([ASK, ACCEPTED, outcome(deliveries=2), ACKED, outcome(7)], *TRIES).doubled


@pytest.mark.parametrize("lines, received", [
    (GOOD, (request(1, 2, 503), request(2, 3, digest="other"))),
    (GOOD, (request(1, 2, 503, idempotency_key="other"), request(2, 3))),
    (GOOD, (request(2, 2, 503), request(2, 3))),
    (GOOD, (*TRIES, request(3, 4, 503))),
    (GOOD, (request(1, 2), request(2, 3, 503))),
    ([ASK, ACCEPTED, outcome(kind="error", status=410), ACKED], TRIES),
    ([ASK, ACCEPTED, outcome(kind="cancelled")], TRIES),
    ([*GOOD, outcome(8, attempts=3)], TRIES),
    ([*GOOD, line("seen", 4, id="a", attempts=3, requestId=None)], TRIES),
    ([*GOOD, line("fault", 4, text="wrong")], TRIES),
    ([*GOOD, line("ended", 4, status=70)], TRIES),
    ([*GOOD, line("refused", 4, id="a", code="E_INTERNAL")], TRIES),
    (GOOD, (*TRIES, request(4, 4, entry="b"))),
], ids=["bytes", "Idempotency-Key", "X-Request-Id twice", "an attempt that was not counted", "a verdict",
        "a status", "cancelled by nobody", "an outcome that changed", "attempts that went back", "a fault",
        "an exit status", "a refusal", "sent and not asked for"])
def test_other_disagreements_are_noticed(lines, received):
    """Each by a sentence."""
    found = compare(lines, *received)
    assert found.others and not found.lost


def test_a_process_that_had_said_nothing_may_end_by_sigterm():
    """It could not take the signal yet; one that speaks ends with 0."""
    assert not compare([*GOOD, line("ended", 4, status=-15, said=0)], *TRIES).others
    assert compare([*GOOD, line("ended", 4, status=-15, said=1)], *TRIES).others


def test_what_was_said_in_doubt_counts_for_nothing():
    """The entry that was accepted then is left out, an acknowledgement of then may be undone."""
    lines, entries = ledger.without([*GOOD, outcome(8, deliveries=2)], ledger.Doubt(5.5, 7))
    assert entries == set() and not compare(lines, *TRIES).doubled
    lines, entries = ledger.without([ASK, ACCEPTED], ledger.Doubt(0.5, 7))
    assert entries == {"a"} and not compare(lines, *TRIES, but=entries).others
    moved = {**ASK, "moves": "/no/such/file"}
    assert compare([moved]).lost
    lines, entries = ledger.without([moved], ledger.Doubt(-1, 0.5))
    assert entries == {"a"} and not compare(lines, but=entries).lost
    lines, entries = ledger.without(GOOD, ledger.Doubt(-1, 0.5))
    assert entries == set() and lines == GOOD, "accepted afterwards, it counts"


def test_what_was_under_way_when_the_doubt_began_is_in_doubt():
    """A call without an answer, on a connection that lasted; any other keeps its promise."""
    moved = {**ASK, "moves": "/no/such/file"}
    lines, entries = ledger.without([moved], ledger.Doubt(0.5, 7, {"h"}))
    assert entries == {"a"} and not compare(lines, but=entries).lost
    for before, hosts in ([moved], set()), ([moved, line("ended", 0.2, status=-9)], {"h"}):
        lines, entries = ledger.without(before, ledger.Doubt(0.5, 7, hosts))
        assert entries == set() and compare(lines).lost


def test_an_outcome_told_in_doubt_comes_again_unless_its_host_asked_to_forget_it():
    """Whether it was forgotten is not known; without that it has to come."""
    told, asked = [ASK, ACCEPTED, outcome()], line("ack", 5.5, eventIds=["e"])
    for lines, is_lost in ([*told, asked], False), (told, True), ([*told, {**asked, "at": 8}], True):
        lines, entries = ledger.without(lines, ledger.Doubt(4, 7))
        assert entries == set() and bool(compare(lines, *TRIES).lost) == is_lost
    lines, _ = ledger.without([*told, asked, outcome(8, deliveries=2)], ledger.Doubt(4, 7))
    assert not compare(lines, *TRIES).doubled, "an acknowledgement of then may be undone"


def test_an_error_may_be_followed_by_another_outcome_only_if_somebody_asked_again():
    """Asking again reopens what has ended with an error; nothing reopens what has completed."""
    error = outcome(4, eventId=None, kind="error", attempts=None, requestId=None, status=None)
    late = outcome(6, eventId=None, attempts=None, requestId=None, status=None)
    again = {**ASK, "at": 4.5}
    assert not compare([ASK, ACCEPTED, error, again, late], *TRIES).others
    assert compare([ASK, ACCEPTED, error, late], *TRIES).others
    assert compare([ASK, ACCEPTED, late, again, {**error, "at": 7}], *TRIES).others


def test_left_over_bodies_need_a_call_that_came_to_nothing(tmp_path):
    """One for each such call; what was moved in only while the caller has the file."""
    source, copy, moved = tmp_path / "source", tmp_path / "body-1", tmp_path / "moved-1"
    for path in (source, copy, moved):
        path.write_bytes(b"x")
    cut = {**ASK, "moves": str(source), "source": BODY}
    assert not invariants.unexplained([moved], [cut])
    assert invariants.unexplained([copy, moved], [cut])
    assert invariants.unexplained([copy], GOOD)
    refusal = {"what": "refused", "at": 1.5, "host": "h1", "code": "E_SIDECAR_EXITED"}
    assert not invariants.unexplained([copy], [*GOOD, {**refusal, "id": "a"}])
    assert invariants.unexplained([copy], [*GOOD, {**refusal, "id": "configure"}])
    source.unlink()
    assert invariants.unexplained([moved], [cut])
    assert not invariants.unexplained([moved], [cut, ACCEPTED], doubted={"a"})
