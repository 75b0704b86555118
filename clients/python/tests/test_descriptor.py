"""What may be sent: B31 to B50."""

import os
import pathlib

import pytest
from rig import PING

from outtray import InvalidError
from outtray._descriptor import check_descriptor, nearest

URL = "https://api.test/x"
FIELD = {"name": "n", "contentType": "text/plain"}


def part(start, end, **more):
    return {"url": URL, "range": {"start": start, "end": end}, **more}


def parts(*items):
    return {"file": "/f", "parts": list(items)}


def refused(request, *words):
    with pytest.raises(InvalidError) as caught:
        check_descriptor(request)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def test_B31_one_kind_of_body_at_most():
    refused({"url": URL, "data": 1, "form": [{**FIELD, "string": ""}]}, "data and form")
    refused({"url": URL, "data": 1, "file": "/f"}, "data and file")
    for body in ({}, {"data": None}, {"file": "/f"}, {"form": [{**FIELD, "string": ""}]}):
        check_descriptor({"url": URL, **body})


def test_B32_B33_unserializable_data_is_refused(client, fake):
    loop = []
    loop.append(loop)
    for data in (len, loop, {"deep": [{1, 2}]}, {"n": float("inf")}):
        note = client.define(key=f"n{id(data)}", request=lambda vars, data=data: {**PING, "data": data})
        with pytest.raises(InvalidError, match="data is not JSON-serializable"):
            note.mutate({})
    assert fake.calls == []


def test_B34_B35_get_has_no_body_delete_may():
    for body in ({"data": 1}, {"file": "/f"}, {"form": [{**FIELD, "string": ""}]}):
        refused({"url": URL, "method": "GET", **body}, next(iter(body)), "GET")
        check_descriptor({"url": URL, "method": "DELETE", **body})
    check_descriptor({"url": URL, "method": "GET"})


def test_B36_a_form_field_is_text_or_file():
    refused({"url": URL, "form": [FIELD]}, "form[0]", "exactly one")
    refused({"url": URL, "form": [{**FIELD, "string": "", "path": "/p"}]}, "exactly one")
    refused({"url": URL, "form": []}, "at least one field")
    refused({"url": URL, "form": [{"name": "", "contentType": "t", "string": ""}]}, "form[0].name")


def test_B37_B38_parts_need_a_file_and_url_is_needed_without_parts():
    refused({"parts": [part(0, 1)]}, "needs file")
    refused({"data": 1}, "request.url is missing")
    refused({"url": ""}, "request.url")
    check_descriptor(parts(part(0, 1)))


def test_B39_methods_are_those_of_the_list():
    for method in ("HEAD", "post", 7, None):
        refused({"url": URL, "method": method}, "POST, PUT, PATCH, DELETE, GET")


def test_B40_expires_at_is_a_whole_number_above_zero():
    for value in (float("nan"), float("inf"), 0, -1, 1.5, "1", True):
        refused({"url": URL, "expiresAt": value}, "request.expiresAt")
    check_descriptor({"url": URL, "expiresAt": 1})


def test_B41_a_descriptor_is_an_object():
    for value in (None, 7, "x", [1]):
        refused(value, "request must be an object")


def test_B42_unknown_fields_are_refused_with_the_nearest_name():
    for wrong, right in (("header", "headers"), ("expiryAt", "expiresAt"), ("wifionly", "wifiOnly")):
        error = refused({"url": URL, wrong: 1}, wrong, f"did you mean {right}?")
        assert error.path == f"request.{wrong}"
    assert "did you mean" not in str(refused({"url": URL, "android": {}}))
    assert nearest("completely", ["headers"]) is None


@pytest.mark.parametrize(
    "request_, path",
    [
        (parts(part(0, 1, header={})), "request.parts[0].header"),
        (parts({"url": URL, "range": {"start": 0, "end": 1, "stop": 2}}), "request.parts[0].range.stop"),
        ({"url": URL, "form": [{**FIELD, "string": "", "filename": "x"}]}, "request.form[0].filename"),
        ({"url": URL, "retry": {"backof": {}}}, "request.retry.backof"),
        (
            {"url": URL, "retry": {"backoff": {"baseMs": 1, "maxMs": 2, "jitter": 0, "mxMs": 1}}},
            "request.retry.backoff.mxMs",
        ),
        (
            {"url": URL, "retry": {"terminalHttp": {"exempt": [], "except": []}}},
            "request.retry.terminalHttp.except",
        ),
        (
            {"url": URL, "retry": {"transient": [{"status": 422, "retries": 1}]}},
            "request.retry.transient[0].retries",
        ),
        ({"url": URL, "accept": [{"status": 409, "body": "x"}]}, "request.accept[0].body"),
        ({"url": URL, "timeouts": {"connect": 1}}, "request.timeouts.connect"),
    ],
)
def test_B43_unknown_fields_inside_are_refused_with_their_path(request_, path):
    assert refused(request_, "unknown field").path == path


@pytest.mark.parametrize(
    "more",
    [
        {"accept": {}},
        {"accept": [{"status": "409"}]},
        {"accept": [{"status": 409, "bodyIncludes": 7}]},
        {"accept": [{}]},
        {"retry": []},
        {"retry": {"terminalHttp": {"exempt": ["404"]}}},
        {"retry": {"terminalHttp": {}}},
        {"retry": {"backoff": {"baseMs": 1}}},
        {"retry": {"backoff": {"baseMs": 1, "maxMs": 2, "jitter": 2}}},
        {"retry": {"transient": [{"status": 429}]}},
        {"retry": {"transient": [{"status": 500}]}},
        {"retry": {"transient": [{"status": 422, "maxRetries": -1}]}},
        {"priority": "low"},
        {"staging": "link"},
        {"idempotencyKey": True},
        {"idempotencyKey": ""},
        {"headers": []},
        {"headers": {"a": 1}},
        {"file": ""},
        {"file": 7},
    ],
)
def test_B44_wrong_shapes_are_refused(more):
    assert refused({"url": URL, **more}).path.startswith("request.")


def test_B45_right_shapes_are_taken():
    check_descriptor({"url": URL, "retry": {}, "accept": []})
    check_descriptor(
        {
            "url": URL,
            "accept": [{"status": 409, "bodyIncludes": "done"}],
            "priority": "high",
            "staging": "copy",
            "idempotencyKey": False,
            "timeouts": {"stallMs": 1},
            "retry": {
                "backoff": {"baseMs": 1, "maxMs": 2, "jitter": 0.5},
                "terminalHttp": {"exempt": [404]},
                "transient": [{"status": 422, "bodyIncludes": "busy", "maxRetries": 0}],
            },
        }
    )


def test_B46_wifi_only_is_true_false_or_absent(client, fake):
    note = client.define(key="note", request=lambda vars: vars["request"])
    for more in ({}, {"wifiOnly": True}, {"wifiOnly": False}):
        note.mutate({"request": {"url": URL, **more}})
        assert {name: fake.entries[-1]["request"][name] for name in more} == more
    assert "wifiOnly" not in fake.entries[0]["request"]
    for value in (None, "yes", 1):
        refused({"url": URL, "wifiOnly": value}, "request.wifiOnly")


def test_B47_what_is_refused_never_reaches_the_sidecar(client, fake):
    with pytest.raises(InvalidError):
        client.define(key="note", request=lambda vars: {"url": URL, "header": {}}).mutate({})
    assert fake.calls == []


def test_B48_D9_parts_that_tile_are_taken():
    check_descriptor(parts(part(0, 8), part(8, 9, headers={"A": "b"})))
    check_descriptor(parts(part(0, 0)))
    refused(parts(), "at least one part")


@pytest.mark.parametrize(
    "start, end", [(-1, 1), (0, -1), (1, 1), (2, 1), (0, 1.5), (float("nan"), 1), (True, 2), ("0", 1)]
)
def test_B49_ranges_that_are_none(start, end):
    refused(parts(part(start, end)), "request.parts[0].range")


@pytest.mark.parametrize(
    "items, place",
    [
        ([part(1, 2)], "parts[0].range.start"),
        ([part(0, 1), part(2, 3)], "parts[1].range.start"),
        ([part(0, 2), part(1, 3)], "parts[1].range.start"),
        ([part(1, 2), part(0, 1)], "parts[0].range.start"),
        ([part(0, 1), part(1, 1)], "parts[1].range.end"),
        ([{**part(0, 1), "url": ""}], "parts[0].url"),
        ([part(0, 1, headers=7)], "parts[0].headers"),
        ([7], "parts[0]"),
    ],
)
def test_B50_parts_that_do_not_tile_are_refused_by_index(items, place):
    refused(parts(*items), place)


def test_paths_may_be_path_objects_and_hold_any_byte():
    assert check_descriptor({"url": URL, "file": pathlib.Path("/tmp/a b")})["file"] == "/tmp/a b"
    name = os.fsdecode(b"/tmp/\xff a%")
    assert check_descriptor({"url": URL, "file": name})["file"] == "file:///tmp/%FF%20a%25"
    form = [{**FIELD, "path": pathlib.Path("/tmp/x")}]
    assert check_descriptor({"url": URL, "form": form})["form"] == [{**FIELD, "path": "/tmp/x"}]
    assert isinstance(form[0]["path"], pathlib.Path), "the caller's own objects stay as they are"
