"""The driver of a client that is wrong in one way; certify.py must notice.  faulty_driver.py FAULT"""

import asyncio
import sys

import driver

from outtray import _definition, _delivery, _loop, _uploads
from outtray._delivery import Acknowledge, Delivery
from outtray._json import Text


def ack_early():
    settled = Delivery.settled
    Delivery.settled = lambda self, event: [*settled(self, event), Acknowledge(event["eventId"])]


def ack_failures():
    Delivery.failed = lambda self, event, error: [*Delivery.handled(self, event), _delivery.Warn("failed")]


def ack_unknown_kinds():
    following = Delivery._next

    def acknowledge(self, lane, event):
        known = event["kind"] in (*_delivery.KINDS, "cancelled")
        return (
            following(self, lane, event)
            if known
            else [self._acknowledge(event["eventId"]), _delivery.Warn("?")]
        )

    Delivery._next = acknowledge


def no_order():
    Delivery.settled = lambda self, event: [_delivery.Handle(event)]
    Delivery.handled = lambda self, event: [Acknowledge(event["eventId"])]


def handle_twice():
    settled = Delivery.settled

    def forgetful(self, event):
        self._held.clear()
        self._acknowledged.clear()
        return settled(self, event)

    Delivery.settled = forgetful


def subscribe_early():
    greetings = _uploads.Uploads.greetings
    _uploads.Uploads.greetings = lambda self: greetings(self) or [("subscribe", _uploads.subscription())]


def sloppy_vars():
    text = _definition.vars_text
    _definition.vars_text = lambda vars, limit: text(
        {k: v for k, v in vars.items() if v is not None}, limit
    )


def extra_params():
    called = _uploads.Uploads.call
    _uploads.Uploads.call = lambda self, method, params=(): called(
        self, method, [*params, ("trace", Text("1"))]
    )


def one_page():
    walk = _uploads.Uploads._walk
    _uploads.Uploads._walk = lambda self, cursor: walk(self, cursor) if cursor is None else None


def handler_first():
    Delivery.mutate_began = lambda self, entry_id, group=None: None
    Delivery.mutate_ended = lambda self, entry_id, group=None: []
    _loop.TURNS_AFTER_MUTATE = 0


if __name__ == "__main__":
    globals()[sys.argv[1].replace(" ", "_")]()
    asyncio.run(driver.Coroutines().main())
