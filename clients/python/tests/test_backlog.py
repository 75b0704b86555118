"""Between reader and listeners: bounded, with the loss told."""

from outtray._backlog import Backlog


def test_up_to_the_limit_everything_comes_in_order():
    backlog = Backlog(3)
    given = [("state", {"id": "a"}), ("progress", {"id": "a"}), ("attempt", {"id": "a"})]
    for one in given:
        backlog.push(*one)
    assert backlog.take() == ([], given, False, 0)
    assert backlog.take() == ([], [], False, 0)


def test_beyond_it_the_newest_of_an_id_stays_and_the_loss_of_others_is_told():
    backlog = Backlog(2)
    backlog.push("state", {"id": "a", "n": 1})
    backlog.push("progress", {"id": "a", "n": 1})
    backlog.push("state", {"id": "a", "n": 2})
    backlog.push("progress", {"id": "a", "n": 3})
    backlog.push("progress", {"id": "b", "n": 1})
    backlog.push("attempt", {"id": "a"})
    backlog.push("attempt", {"id": "b"})
    assert backlog.take() == (
        [],
        [("state", {"id": "a", "n": 2}), ("progress", {"id": "a", "n": 3})],
        False,
        2,
    )
    for id in ("a", "b", "c"):
        backlog.push("state", {"id": id})
    _, kept, lost_states, _ = backlog.take()
    assert ([row["id"] for _, row in kept], lost_states) == (["a", "b"], True)
