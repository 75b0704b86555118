"""The state machine of delivery, with a clock of the test: B51 to B68, B82, D40."""

from outtray._delivery import Acknowledge, Delivery, Handle, Release, Show, Warn


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def machine(*keys):
    clock = Clock()
    return Delivery(lambda key: key in (keys or ("k",)), clock), clock


def event(id="a", event_id="e1", kind="completed", **more):
    return {
        "eventId": event_id,
        "id": id,
        "key": "k",
        "kind": kind,
        "state": kind,
        "vars": None,
        "at": 7,
        **more,
    }


def kinds(orders):
    return [type(order) for order in orders]


def test_B57_D40_an_outcome_is_handled_once_and_acknowledged_again_if_it_comes_again():
    delivery, _ = machine()
    first = event()
    assert delivery.settled(first) == [Handle(first)]
    assert delivery.settled(event(deliveries=2)) == []
    assert delivery.handled(first) == [Acknowledge("e1")]
    assert delivery.settled(event(deliveries=3)) == [Acknowledge("e1")]


def test_B58_no_event_id():
    delivery, _ = machine()
    for broken in (None, 7, {}, {"eventId": 7}):
        assert kinds(delivery.settled(broken)) == [Warn]


def test_B59_B61_B62_an_outcome_waits_for_the_open_mutate_of_its_id_alone():
    delivery, _ = machine()
    delivery.mutate_began("a")
    delivery.mutate_began("a")
    assert delivery.settled(event()) == []
    assert kinds(delivery.settled(event("b", "e2"))) == [Handle]
    assert delivery.mutate_ended("a") == []
    assert kinds(delivery.mutate_ended("a")) == [Handle]


def test_B63_B64_one_at_a_time_in_order_and_on_after_a_failure():
    delivery, _ = machine()
    first, second, third = event(), event(event_id="e2"), event(event_id="e3")
    assert delivery.settled(first) == [Handle(first)]
    assert delivery.settled(second) == delivery.settled(third) == []
    assert kinds(delivery.settled(event("b", "e4"))) == [Handle]
    failed = delivery.failed(first, ValueError("x"))
    assert kinds(failed) == [Release, Warn, Handle] and failed[2] == Handle(second)
    assert delivery.handled(second) == [Acknowledge("e2"), Handle(third)]


def test_B65_a_malformed_event_is_warned_about_once_and_not_acknowledged():
    delivery, _ = machine()
    broken = {"eventId": "old", "type": "completed"}
    assert kinds(delivery.settled(broken)) == [Warn]
    assert delivery.settled(broken) == []


def test_B66_cancelled_is_acknowledged_without_a_handler_whatever_its_key():
    delivery, _ = machine()
    assert delivery.settled(event(kind="cancelled", key="gone")) == [Acknowledge("e1")]


def test_B67_B68_an_unknown_key_is_loud():
    delivery, _ = machine()
    release, show, warn = delivery.settled(event(key="gone"))
    assert (release, type(warn)) == (Release("e1"), Warn)
    assert show == Show(
        {
            "id": "a",
            "key": "gone",
            "vars": None,
            "state": "completed",
            "bytesSent": 0,
            "totalBytes": 0,
            "attempts": 0,
            "updatedAt": 7,
            "reason": "unhandled-key",
        }
    )


def test_D40_an_unknown_kind_is_released_with_a_warning():
    delivery, _ = machine()
    assert kinds(delivery.settled(event(kind="merged"))) == [Release, Warn]


def test_a_released_outcome_is_handled_when_it_comes_again():
    delivery, _ = machine()
    first = event()
    delivery.settled(first)
    delivery.failed(first, ValueError())
    assert kinds(delivery.settled(event(deliveries=2))) == [Handle]


def test_B82_a_slow_handler_is_warned_about_once():
    delivery, clock = machine()
    first = event()
    delivery.settled(first)
    assert delivery.slow_at == 30
    clock.now = 29.9
    assert delivery.slow() == []
    clock.now = 30
    assert kinds(delivery.slow()) == [Warn]
    assert delivery.slow() == [] and delivery.slow_at is None
    assert delivery.handled(first) == [Acknowledge("e1")]


def test_B82_a_quick_handler_is_not_warned_about():
    delivery, clock = machine()
    first = event()
    delivery.settled(first)
    delivery.handled(first)
    clock.now = 31
    assert delivery.slow() == []


def test_what_waited_comes_again_after_a_death_and_what_ran_is_not_run_twice():
    delivery, _ = machine()
    first, second = event(), event(event_id="e2")
    delivery.settled(first)
    delivery.settled(second)
    delivery.disconnected()
    assert delivery.settled(first) == []
    assert delivery.settled(second) == []
    assert delivery.handled(first) == [Acknowledge("e1"), Handle(second)]


def test_after_stop_nothing_begins():
    delivery, _ = machine()
    first = event()
    delivery.settled(first)
    delivery.stop()
    assert delivery.settled(event("b", "e2")) == []
    assert delivery.handled(first) == [Acknowledge("e1")]


def test_nothing_is_kept_of_what_is_done():
    delivery, _ = machine()
    for number in range(10_000):
        one = event(f"id{number}", f"e{number}")
        delivery.mutate_began(one["id"])
        delivery.settled(one)
        delivery.mutate_ended(one["id"])
        delivery.handled(one)
    assert not delivery._lanes and not delivery._held and not delivery._slow_at
    assert len(delivery._acknowledged) == 4096


def group_event(event_id="g1", group="g", **more):
    return {"eventId": event_id, "group": group, "at": 7, "counts": {}, "failed": [], **more}


def group_machine():
    delivery, clock = machine()
    delivery.takes_groups = True
    return delivery, clock


def test_D48_the_outcome_of_a_group_comes_after_those_of_its_members_that_were_there():
    delivery, _ = group_machine()
    first, second, group = event("a", "e1", group="g"), event("a", "e2", group="g"), group_event()
    assert kinds(delivery.settled(first)) == [Handle]
    assert delivery.settled(second) == []
    assert kinds(delivery.settled(event("b", "e3", group="h"))) == [Handle]
    assert delivery.group_settled(group) == []
    assert delivery.settled(event("c", "e4", group="g")) == [Handle(event("c", "e4", group="g"))]
    assert delivery.handled(first) == [Acknowledge("e1"), Handle(second)]
    assert kinds(delivery.failed(second, ValueError())) == [Release, Warn, Handle]
    assert delivery.handled(group) == [Acknowledge("g1")]
    assert delivery.group_settled(group_event(deliveries=2)) == [Acknowledge("g1")]


def test_D48_members_that_have_no_handler_hold_up_no_group():
    delivery, _ = group_machine()
    first = event("a", "e1", group="g")
    delivery.settled(first)
    delivery.settled(event("a", "e2", "cancelled", group="g"))
    delivery.settled(event("a", "e3", "odd", group="g"))
    group = group_event()
    assert delivery.group_settled(group) == []
    orders = delivery.handled(first)
    assert kinds(orders) == [Acknowledge, Acknowledge, Release, Warn, Handle]
    assert orders[-1] == Handle(group)


def test_D48_a_group_waits_for_the_open_enqueue_of_a_member_and_one_at_a_time():
    delivery, clock = group_machine()
    delivery.mutate_began("a", "g")
    first, second = group_event(), group_event("g2", generation=2)
    assert delivery.group_settled(first) == []
    assert delivery.mutate_ended("a", "g") == [Handle(first)]
    assert delivery.group_settled(second) == []
    assert kinds(delivery.group_settled(group_event("h1", "h"))) == [Handle]
    clock.now = 31
    assert [order.message for order in delivery.slow()][0] == (
        "the handler of groups has not ended after 30 s for g; still waiting"
    )
    assert delivery.handled(first) == [Acknowledge("g1"), Handle(second)]


def test_D42_D48_a_group_without_a_handler_is_acknowledged_and_one_without_a_name_dropped():
    delivery, _ = machine()
    member = event("a", "e1", group="g")
    delivery.settled(member)
    assert delivery.group_settled(group_event()) == []
    assert delivery.handled(member) == [Acknowledge("e1"), Acknowledge("g1")]
    assert kinds(delivery.group_settled({"eventId": "x"})) == [Warn]
    assert delivery.group_settled({"eventId": "x"}) == []


def test_D48_after_a_death_the_outcome_of_a_group_comes_again():
    delivery, _ = group_machine()
    member, group = event("a", "e1", group="g"), group_event()
    delivery.settled(member)
    assert delivery.group_settled(group) == []
    delivery.disconnected()
    assert delivery.group_settled(group) == []
    assert delivery.handled(member) == [Acknowledge("e1"), Handle(group)]
