"""What a client must do, one function for each check; its name is printed."""
import re
import signal

from certification import outcomes
from certification.stage import Difference
from certification.outcomes import row, settled

POST = {"request": {"url": "http://127.0.0.1:9/notes", "data": {"text": "hi", "tag": None}}}


def accepted(call):
    """The answer to an enqueue."""
    return {"id": call["params"]["id"], "generation": 1, "disposition": "created",
            "row": row(call["params"]["id"], call["params"]["key"])}


def opened(stage, handler="pass", parser=False, **options):
    """A client with one definition, configured and subscribed; its sidecar."""
    stage.do("open", dir=stage.dir)
    stage.do("define", key="note", handler=handler, parser=parser)
    number = stage.tell("configure", options=options)
    sidecar = stage.sidecar()
    sidecar.serve("subscribe")
    stage.done(number)
    return sidecar


def enqueued(stage, sidecar, id="a"):
    """An entry that the client enqueued and knows to be accepted."""
    number = stage.tell("mutate", key="note", id=id, vars=POST)
    call = sidecar.call("enqueue", {"id": id})
    sidecar.answer(call, accepted(call))
    stage.done(number)
    return call


def greeted_again(sidecar, id):
    """What comes to a sidecar that took another's place: the subscription and the call, in any order."""
    for _ in range(2):
        call = sidecar.heard.take_any([{"method": "enqueue", "params": {"id": id}}, {"method": "subscribe"}])
        sidecar.answer(call, accepted(call) if call["method"] == "enqueue" else {})


def nothing_before_configure(stage):
    stage.do("open", dir=stage.dir)
    stage.do("define", key="note")
    number = stage.tell("mutate", key="note", vars=POST, id="a")
    sidecar = stage.sidecar()
    call = sidecar.call("enqueue")
    sidecar.answer(call, accepted(call))
    stage.done(number)
    sidecar.heard.none({"method": "subscribe"})
    number = stage.tell("configure", options={})
    if "settled" not in sidecar.serve("subscribe")["params"]["events"]:
        raise Difference("subscribe does not ask for settled")
    stage.done(number)


def enqueue_is_exact(stage):
    sidecar = opened(stage)
    vars = {"b": None, "a": [1, None, "\u2028 é 😀"], **POST}
    number = stage.tell("mutate", key="note", vars=vars)
    call = sidecar.call("enqueue", {"key": "note"})
    made = call["params"].get("id", "")
    if not re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made):
        raise Difference(f"the id {made!r} is no version 4 UUID")
    if call["params"].get("vars") != vars or list(call["params"]["vars"]) != list(vars):
        raise Difference(f"vars became {call['params'].get('vars')}")
    if call["params"]["request"].get("data") != {"text": "hi", "tag": None}:
        raise Difference(f"data became {call['params']['request'].get('data')}")
    sidecar.answer(call, {**accepted(call), "id": "another"})
    if stage.done(number) != {"id": made}:
        raise Difference("mutate came to another id than the client's own")


def refusals_reach_the_caller(stage):
    sidecar = opened(stage)
    number = stage.tell("mutate", key="note", vars=POST, id="a")
    sidecar.refuse(sidecar.call("enqueue"), "E_STORAGE")
    stage.failed(number, "E_STORAGE")
    number = stage.tell("call", name="cancel", args=["a"])
    sidecar.refuse(sidecar.call("cancel", {"id": "a"}), "E_INVALID", -32602, path="id")
    stage.failed(number, "E_INVALID")


def bad_descriptors_stay_here(stage):
    sidecar = opened(stage)
    for request, word in (({"url": "http://h/", "header": {}}, "header"),
                          ({"url": "http://h/", "data": 1, "file": "/f"}, "data"),
                          ({"method": "GET", "url": "http://h/", "data": 1}, "GET"), ({"data": 1}, "url"),
                          ({"url": "http://h/", "retry": {"transient": [{"status": 429}]}}, "429")):
        refused = stage.failed(stage.tell("mutate", key="note", vars={"request": request}))
        if word not in refused["message"]:
            raise Difference(f"{request} was refused with {refused['message']!r}, which lacks {word!r}")
    sidecar.heard.none({"method": "enqueue"})


def many_calls_answers_in_any_order(stage):
    sidecar = opened(stage)
    numbers = [stage.tell("mutate", key="note", vars=POST, id=f"n{index}") for index in range(300)]
    calls = [sidecar.call("enqueue") for _ in numbers]
    if len({call["id"] for call in calls}) != len(calls):
        raise Difference("two calls had one id")
    for call in reversed(calls):
        sidecar.answer(call, accepted(call))
    for index, number in enumerate(numbers):
        if stage.done(number) != {"id": f"n{index}"}:
            raise Difference("an answer went to another call")


def caller_first_then_handler(stage):
    sidecar = opened(stage)
    for index in range(20):
        number = stage.tell("mutate", key="note", vars=POST, id=f"n{index}")
        call = sidecar.call("enqueue")
        sidecar.say(settled(f"n{index}"), {"id": call["id"], "result": accepted(call)})
        first = stage.reports.take_any([{"n": number}, {"handler": "onSuccess"}])
        if "handler" in first:
            raise Difference("a handler ran before the caller had its answer")
        stage.reports.take({"handler": "onSuccess", "id": f"n{index}"})


def acknowledged_after_the_handler(stage):
    sidecar = opened(stage, handler="hold")
    sidecar.say(settled("a", "e1"))
    stage.reports.take({"handler": "onSuccess", "id": "a", "deliveries": 1})
    sidecar.heard.none({"method": "ackEvents"})
    stage.do("let", id="a")
    sidecar.call("ackEvents", {"eventIds": ["e1"]})


def a_failing_handler_releases(stage):
    sidecar = opened(stage, handler="throw")
    sidecar.say(settled("a", "e1"))
    sidecar.call("releaseEvents", {"eventIds": ["e1"]})
    stage.reports.take_like("warning")
    sidecar.heard.none({"method": "ackEvents"})
    number = stage.tell("call", name="redeliver", args=[])
    sidecar.serve("subscribe")
    stage.done(number)
    sidecar.say(settled("a", "e1", deliveries=2))
    stage.reports.take({"handler": "onSuccess", "deliveries": 2})


def an_unknown_key_is_loud(stage):
    sidecar = opened(stage)
    stage.do("listen", event="state")
    sidecar.say(settled("a", "e1", key="gone"))
    sidecar.call("releaseEvents", {"eventIds": ["e1"]})
    shown = {"id": "a", "reason": "unhandled-key", "state": "completed"}
    stage.reports.take({"event": "state", "params": shown})
    stage.reports.take_like("warning")
    sidecar.heard.none({"method": "ackEvents"})


def an_unknown_kind_is_released(stage):
    sidecar = opened(stage)
    sidecar.say(settled("a", "e1", kind="merged", state="merged"))
    sidecar.call("releaseEvents", {"eventIds": ["e1"]})
    stage.reports.take_like("warning")
    stage.reports.none({"handler": "onSuccess"})


def a_cancelled_outcome_has_no_handler(stage):
    sidecar = opened(stage)
    sidecar.say(outcomes.cancelled("a", "e1", key="gone"), outcomes.cancelled("b", "e2"))
    sidecar.call("ackEvents", {"eventIds": ["e1"]})
    sidecar.call("ackEvents", {"eventIds": ["e2"]})
    stage.reports.none({"id": "b"})


def one_id_in_order_others_go_on(stage):
    sidecar = opened(stage, handler="hold")
    sidecar.say(settled("a", "e1"), settled("a", "e2"), settled("b", "e3"))
    stage.reports.take({"handler": "onSuccess", "id": "a"})
    stage.reports.take({"handler": "onSuccess", "id": "b"})
    stage.reports.none({"handler": "onSuccess", "id": "a"})
    stage.do("let", id="b")
    sidecar.call("ackEvents", {"eventIds": ["e3"]})
    stage.do("let", id="a")
    sidecar.call("ackEvents", {"eventIds": ["e1"]})
    stage.reports.take({"handler": "onSuccess", "id": "a"})
    stage.do("let", id="a")
    sidecar.call("ackEvents", {"eventIds": ["e2"]})


def a_redelivery_is_handled_once(stage):
    sidecar = opened(stage, handler="hold")
    sidecar.say(settled("a", "e1"))
    stage.reports.take({"handler": "onSuccess", "id": "a"})
    sidecar.say(settled("a", "e1", deliveries=2))
    stage.do("let", id="a")
    sidecar.call("ackEvents", {"eventIds": ["e1"]})
    sidecar.say(settled("a", "e1", deliveries=3))
    stage.reports.none({"handler": "onSuccess"})


def parsers(stage):
    sidecar = opened(stage, parser=True)
    sidecar.say(settled("a", response={"status": 200, "body": '{"n": 1}', "bodyTruncated": False}))
    stage.reports.take({"handler": "onSuccess", "id": "a", "value": {"n": 1}})
    for id, response, kind in (("b", {"body": "{", "bodyTruncated": True}, "truncated"),
                               ("c", {"body": "hello", "bodyTruncated": False}, "unknown"),
                               ("d", {"bodyBase64": "e30=", "bodyTruncated": False}, "unknown")):
        sidecar.say(settled(id, f"event-{id}", response={"status": 200, **response}))
        stage.reports.take({"handler": "onError", "id": id, "value": {"errorKind": kind}})
        sidecar.call("ackEvents", {"eventIds": [f"event-{id}"]})
    sidecar.say(outcomes.failed("f", kind="tired"))
    stage.reports.take({"handler": "onError", "id": "f", "value": {"errorKind": "tired"}})


def bytes_however_cut(stage):
    sidecar = opened(stage)
    stage.do("listen", event="progress")
    text = "a\u2028b\u0085c😀"
    params = f'{{"id":"{text}","bytesSent":1,"totalBytes":2}}'
    for byte in f'{{"jsonrpc":"2.0","method":"progress","params":{params}}}\n'.encode():
        sidecar.write(bytes([byte]))
    stage.reports.take({"event": "progress", "params": {"id": text, "bytesSent": 1}})
    long = {"method": "progress", "params": {"id": "x" * 8_388_608, "bytesSent": 1, "totalBytes": 2}}
    after = {"method": "progress", "params": {"id": "after", "bytesSent": 1, "totalBytes": 2}}
    sidecar.say(long, after)
    stage.reports.take({"event": "progress", "params": long["params"]})
    stage.reports.take({"event": "progress", "params": after["params"]})


def noise_is_no_end(stage):
    sidecar = opened(stage)
    sidecar.write(b"a line of some log\n{\n\xff\xfe\n[]\n\n")
    sidecar.say({"id": None, "error": {"code": -32700, "message": "not JSON", "data": {"code": "E_PARSE"}}},
                {"id": "stranger", "result": {}}, {"method": "weather", "params": {"sun": True}})
    sidecar.complain(b"x" * 200_000 + b"\n")
    enqueued(stage, sidecar)


def resync_reads_every_page(stage):
    sidecar = opened(stage)
    stage.do("listen", event="state")
    sidecar.say({"method": "resync", "params": {}})
    sidecar.serve("getRequests", {}, {"requests": [row("a")], "nextCursor": "second page"})
    sidecar.serve("getRequests", {"cursor": "second page"}, {"requests": [row("b")]})
    stage.reports.take({"event": "state", "params": {"id": "a"}})
    stage.reports.take({"event": "state", "params": {"id": "b"}})


def get_requests_walks_the_pages(stage):
    sidecar = opened(stage)
    number = stage.tell("call", name="getRequests", args=[{"key": "note"}])
    sidecar.serve("getRequests", {"key": "note"}, {"requests": [row("a")], "nextCursor": "more"})
    sidecar.serve("getRequests", {"key": "note", "cursor": "more"}, {"requests": [row("b")]})
    if [found["id"] for found in stage.done(number)] != ["a", "b"]:
        raise Difference("getRequests did not give the rows of both pages")


def a_death_fails_the_calls_and_the_next_call_restarts(stage):
    sidecar = opened(stage)
    numbers = [stage.tell("mutate", key="note", vars=POST, id=f"n{index}") for index in range(10)]
    for _ in numbers:
        sidecar.call("enqueue")
    sidecar.complain(b"disk on fire\n")
    sidecar.kill(signal.SIGKILL)
    for number in numbers:
        stage.failed(number, "E_SIDECAR_EXITED")
    number = stage.tell("mutate", key="note", vars=POST, id="n0")
    second = stage.sidecar()
    greeted_again(second, "n0")
    stage.done(number)
    second.heard.none({"method": "enqueue"})
    second.say(settled("n0"))
    stage.reports.take({"handler": "onSuccess", "id": "n0"})


def a_call_that_was_shut_out_goes_to_the_next_sidecar(stage):
    sidecar = opened(stage)
    number = stage.tell("mutate", key="note", vars=POST, id="a")
    sidecar.refuse(sidecar.call("enqueue"), "E_SHUTDOWN", 1007)
    sidecar.exit(0)
    second = stage.sidecar()
    greeted_again(second, "a")
    if stage.done(number) != {"id": "a"}:
        raise Difference("the call came to another id")


def close_with_a_slow_sidecar(stage):
    sidecar = opened(stage, handler="hold")
    number = stage.tell("mutate", key="note", vars=POST, id="a")
    call = sidecar.call("enqueue")
    close = stage.tell("close")
    sidecar.say(*[{"method": "progress", "params": {"id": "p" * 1000, "bytesSent": n, "totalBytes": n}}
                  for n in range(1000)])
    sidecar.answer(call, accepted(call))
    sidecar.ended()
    stage.done(close)
    stage.reports.take({"n": number})
    stage.driver.stdin.close()
    stage.driver.wait()


ALL = [check for name, check in list(globals().items())
       if callable(check) and getattr(check, "__module__", "") == __name__
       and check.__code__.co_varnames[:check.__code__.co_argcount] == ("stage",)]
