"""define and mutate: B1 to B30."""

import dataclasses
import datetime
import json
import threading
import time
import uuid

import pytest
from rig import PING, CheckedFake, Seen, ping, until

from outtray import CallError, InvalidError, UploadClient
from outtray._definition import UNSET, Definitions, make_spec
from outtray._options import Options


def sent(fake):
    return fake.entries[-1]


def raw(fake_class=CheckedFake):
    """A fake that keeps the text of what is sent."""

    class Raw(fake_class):
        texts = []

        def call(self, method, params, start=True):
            self.texts.append((method, str(params)))
            return super().call(method, params, start)

    return Raw()


def test_B1_define_files_the_definition(client, fake):
    add = client.define(key="note.add", request=lambda vars: PING)
    assert add.key == "note.add"
    assert add.mutate({}, id="a") == "a"
    assert sent(fake)["key"] == "note.add"


def test_B2_again_replaces_and_warns_once(client, warnings):
    ping(client)
    client.add_listener("state", lambda row: None)
    assert warnings == []
    ping(client)
    assert until(lambda: warnings) == ["ping is defined again; the newer definition counts"]


def test_B3_an_older_mutate_runs_the_newer_request(client, fake):
    old = ping(client)
    client.define(key="ping", request=lambda vars: {"url": "https://api.test/new"})
    old.mutate({})
    assert sent(fake)["request"]["url"] == "https://api.test/new"


def test_B4_empty_key_or_no_request_is_refused(client):
    with pytest.raises(InvalidError, match="key"):
        client.define(key="", request=lambda vars: PING)
    with pytest.raises(InvalidError, match="request must be a function"):
        client.define(key="k", request=None)


def test_B5_clients_keep_their_definitions_apart(client, warnings):
    others = []
    with UploadClient(sidecar=CheckedFake(), on_warning=lambda message, _: others.append(message)) as other:
        ping(client)
        ping(other)
        other.ping()
    assert warnings == others == []


def test_B6_request_runs_once_and_everything_is_enqueued(client, fake):
    asked = []
    note = client.define(key="note", request=lambda vars: asked.append(vars) or {**PING, "data": 1})
    note.mutate({"n": 1}, id="a")
    assert asked == [{"n": 1}]
    entry = sent(fake)
    assert (entry["id"], entry["key"], entry["vars"]) == ("a", "note", {"n": 1})
    assert entry["request"]["data"] == 1


def test_B7_B8_B9_the_text_is_made_once_nulls_included():
    fake = raw()
    with UploadClient(sidecar=fake) as client:
        note = client.define(key="note", request=lambda vars: {**PING, "data": vars["data"]})
        note.mutate({"b": None, "a": [1.0, None], "data": {"z": None, "y": "é"}})
        note.mutate({"data": None})
        ping(client).mutate({"x": 1})
    first, second, third = [text for method, text in fake.texts if method == "enqueue"]
    assert '"vars":{"b":null,"a":[1.0,null],"data":{"z":null,"y":"é"}}' in first
    assert '"data":{"z":null,"y":"é"}' in first
    assert '"data":null' in second
    assert "data" not in json.loads(third)["request"]


def test_B10_no_arguments_store_null(client, fake):
    asked = []
    bare = client.define(key="bare", request=lambda: PING)
    loose = client.define(key="loose", request=lambda vars: asked.append(vars) or PING)
    assert bare.mutate(id="a") == "a"
    loose.mutate(None)
    assert asked == [None]
    assert [entry["vars"] for entry in fake.entries] == [None, None]


def test_B11_the_client_s_own_id_counts(client, fake):
    fake._on_enqueue = lambda given: ({"id": "another"}, [])
    assert ping(client).mutate({}, id="mine") == "mine"


def test_B12_made_ids_are_uuids_of_version_4(client):
    note = ping(client)
    ids = {note.mutate({}) for _ in range(100)}
    assert len(ids) == 100
    assert all(uuid.UUID(one).version == 4 and str(uuid.UUID(one)) == one for one in ids)


def test_B13_B59_delivery_knows_of_an_open_enqueue(client, fake):
    handled = Seen()
    note = ping(client, on_success=lambda value, vars, meta: handled.add(meta["id"]))
    client.configure()
    release = fake.hold_next("enqueue")
    caller = threading.Thread(target=note.mutate, args=({},), kwargs={"id": "a"})
    caller.start()
    until(lambda: client._uploads._delivery._lanes.get(("id", "a")))
    fake.seed_rows({"id": "a", "key": "ping"})
    fake.emit("settled", fake.build_settled("a"))
    assert handled.items == []
    release()
    caller.join()
    assert handled.wait(1) == ["a"]


def test_B14_refusals_reach_the_caller(client, fake):
    fake.fail_next("enqueue", "E_STORAGE")
    with pytest.raises(CallError) as caught:
        ping(client).mutate({})
    assert caught.value.code == "E_STORAGE"


def test_B15_a_throwing_request_sends_nothing(client, fake):
    note = client.define(key="note", request=lambda vars: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        note.mutate({})
    assert fake.calls == []


def test_B16_B17_B18_the_cap_counts_bytes_at_mutate_time(client):
    note = ping(client)
    note.mutate({"a": "x" * (1_048_576 - 8)})
    with pytest.raises(InvalidError, match="1048577 .* 1048576"):
        note.mutate({"a": "x" * (1_048_576 - 7)})
    client.configure(max_vars_bytes=18)
    for text in ("x" * 10, "é" * 5, "☃☃☃x", "😀😀xx"):
        note.mutate({"a": text})
        with pytest.raises(InvalidError):
            note.mutate({"a": text + "y"})


def test_B19_B20_B21_vars_that_are_none(client, fake):
    note = ping(client)
    loop = {}
    loop["loop"] = loop
    for vars, words in (
        (loop, "not JSON-serializable"),
        (len, "builtin_function"),
        (7, "int"),
        ("x", "str"),
        (True, "bool"),
        (datetime.date(2026, 1, 1), "date"),
        ({"a": {1}}, "set"),
        ({"a": float("nan")}, "not JSON-serializable"),
        ({"a": "\ud800"}, "surrogate"),
    ):
        with pytest.raises(InvalidError, match=words):
            note.mutate(vars)
    assert fake.calls == []


@dataclasses.dataclass
class Note:
    site: str
    text: str

    def shout(self):
        return self.text.upper()


def test_B22_a_data_class_goes_with_its_fields(client, fake):
    got = Seen()
    add = client.define(
        key="note",
        request=lambda note: {**PING, "data": note.shout()},
        load_vars=lambda raw: Note(**raw),
        on_success=lambda _, note, meta: got.add(note),
    )
    client.configure()
    fake.settle(add.mutate(Note("s", "hi")))
    assert sent(fake)["vars"] == {"site": "s", "text": "hi"}
    assert sent(fake)["request"]["data"] == "HI"
    assert got.items == [Note("s", "hi")]


def test_B23_lists_and_tuples_are_vars(client, fake):
    note = ping(client)
    note.mutate([1, None])
    assert sent(fake)["vars"] == [1, None]
    note.mutate((1, 2))
    assert sent(fake)["vars"] == [1, 2]


def test_B24_B26_a_slow_enqueue_is_warned_about_once_and_goes_on(client, fake, warnings):
    client.configure(enqueue_timeout_ms=20)
    done = Seen()
    release = fake.hold_next("enqueue")
    note = ping(client, on_success=lambda value, vars, meta: done.add("handled"))
    caller = threading.Thread(target=lambda: done.add(note.mutate({}, id="a")))
    caller.start()
    until(lambda: warnings)
    assert warnings == ["enqueue of a has no answer after 0.02 s; still waiting"]
    assert done.items == []
    release()
    caller.join()
    fake.settle("a")
    assert done.wait(2) == ["a", "handled"]
    assert len(warnings) == 1


def test_B25_one_that_was_in_time_is_never_warned_about(client, warnings):
    client.configure(enqueue_timeout_ms=50)
    ping(client).mutate({})
    time.sleep(0.1)
    client.ping()
    assert warnings == []


def test_A_RETRY_04_a_time_limit_of_any_length_fires_no_timer_early(client, warnings):
    client.configure(enqueue_timeout_ms=1e300)
    ping(client).mutate({})
    assert warnings == []


def test_B27_B28_B29_headers_merge_without_regard_to_case(client, fake):
    asked = []
    note = client.define(key="note", request=lambda vars: vars["request"])
    note.mutate({"request": PING})
    assert sent(fake)["request"]["headers"] == {}
    client.configure(headers=lambda: asked.append(1) or {"Authorization": "a", "X-One": "1"})
    note.mutate({"request": {**PING, "headers": {"authorization": "b", "X-Two": "2"}}})
    assert sent(fake)["request"]["headers"] == {"authorization": "b", "X-One": "1", "X-Two": "2"}
    assert asked == [1]
    note.mutate({"request": PING})
    assert sent(fake)["request"]["headers"] == {"Authorization": "a", "X-One": "1"}
    client.configure(headers=lambda: [1])
    with pytest.raises(InvalidError, match="headers must be an object"):
        note.mutate({"request": PING})


def test_B30_expires_at_is_now_plus_the_lifetime_set_here_else_the_sidecars():
    definitions = Definitions(lambda message, detail: None, now=lambda: 1000.0)
    definitions.add(make_spec("k", lambda vars: vars["request"], None, None, None, None))

    def expires(**request):
        params = json.loads(
            definitions.enqueue("k", {"request": {**PING, **request}}, "a", Options()).params
        )
        return params["request"].get("expiresAt")

    assert expires() is None
    assert expires(expiresAt=7) == 7
    definitions.settings.lifetime_ms = 5
    assert expires() == 1_000_005
    definitions.settings.change(None, UNSET, UNSET, UNSET)
    assert expires() == 1_000_000 + 14 * 24 * 3600 * 1000


def test_ids_that_are_none_are_refused(client):
    for bad in ("", 7, b"a"):
        with pytest.raises(InvalidError, match="id must be"):
            ping(client).mutate({}, id=bad)
