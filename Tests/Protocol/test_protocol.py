"""The document is well-formed, agrees with itself, and everything derived from it is up to date."""
import copy
import json
import re
import subprocess
import sys

import pytest


def walk(value, path="#"):
    yield path, value
    if isinstance(value, dict):
        for name, member in value.items():
            yield from walk(member, f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, f"{path}/{index}")


def schemas(document):
    """Every outermost schema of the document, with the place it stands."""
    for name, schema in document["components"]["schemas"].items():
        yield f"schema {name}", schema
    for method in document["methods"]:
        for param in method["params"]:
            yield f"{method['name']}.{param['name']}", param["schema"]
        yield f"{method['name']}.result", method["result"]["schema"]


def subschemas(place, schema):
    """The schema and every schema in it; literals (examples, const, enum) are not entered."""
    yield place, schema
    for name, member in schema.get("properties", {}).items():
        yield from subschemas(f"{place}.{name}", member)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from subschemas(f"{place}.{name}", schema[name])
    for index, option in enumerate(schema.get("oneOf", [])):
        yield from subschemas(f"{place}|{index}", option)


def test_derived_files_are_up_to_date(root):
    command = [sys.executable, root / "protocol" / "generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), "run python3 protocol/generate.py"


def test_a_changed_document_changes_derived_files(document):
    import generate

    changed = copy.deepcopy(document)
    changed["x-limits"]["maxWindow"]["value"] += 1
    before, after = generate.outputs(document), generate.outputs(changed)
    changed_files = {name.rsplit("/", 1)[1] for name in before if before[name] != after[name]}
    assert {"Limits.swift", "OpenRPCDocument.swift", "reference.md", "protocol.js", "protocol.go",
            "_protocol.py"} <= changed_files
    assert "Method.swift" not in changed_files


def test_every_reference_resolves(document, validator):
    references = [value["$ref"] for _, value in walk(document) if isinstance(value, dict) and "$ref" in value]
    assert references
    for reference in references:
        validator.resolve(reference)


def test_every_schema_and_error_is_used(document):
    text = json.dumps(document)
    unused = [name for kind in ("schemas", "errors") for name in document["components"][kind]
              if f'"#/components/{kind}/{name}"' not in text]
    # The `data` of every error; the validator reads it by name.
    assert unused == ["ErrorData"]


def test_methods_are_whole(document):
    assert re.fullmatch(r"1\.\d+\.\d+", document["openrpc"])
    assert {"title", "version"} <= set(document["info"])
    names = [method["name"] for method in document["methods"]]
    assert len(names) == len(set(names))
    everywhere = {error["$ref"] for error in document["x-errors"]["everyMethod"]}
    for method in document["methods"]:
        assert method["paramStructure"] == "by-name", method["name"]
        assert method["summary"].endswith("."), method["name"]
        assert method["result"]["name"] == "result" and "schema" in method["result"], method["name"]
        params = [param["name"] for param in method["params"]]
        assert len(params) == len(set(params)), method["name"]
        errors = [error["$ref"] for error in method["errors"]]
        assert everywhere <= set(errors), method["name"]
        assert len(errors) == len(set(errors)), method["name"]


def test_the_methods_of_version_1(document):
    assert [method["name"] for method in document["methods"]] == [
        "initialize", "configure", "enqueue", "enqueueAll", "cancel", "retry", "pause", "resume",
        "setWifiOnly", "setNetwork", "updateHeaders", "getRequests", "explain", "subscribe", "unsubscribe",
        "ackEvents", "releaseEvents", "takeDiagnostics", "chunkPlan", "stats", "ping", "advanceClock",
        "shutdown", "rpc.discover"]


def test_schemas_keep_to_the_subset_and_describe_themselves(document, validator):
    for outer, schema in schemas(document):
        for place, inner in subschemas(outer, schema):
            validator.check(inner, None)
            if "required" in inner and "properties" in inner:
                assert set(inner["required"]) <= set(inner["properties"]) | {
                    "response", "error", "cancelReason"}, place
            if inner.get("type") == "object" and "properties" in inner:
                for name, member in inner["properties"].items():
                    described = member.get("description") or validator.resolve(member["$ref"])["description"]
                    assert described.endswith("."), f"{place}.{name}"


def test_numbers_state_their_range(document):
    for outer, schema in schemas(document):
        for place, inner in subschemas(outer, schema):
            if inner.get("type") in ("integer", "number"):
                assert inner["minimum"] <= inner["maximum"] <= 2**53 - 1, place


def test_error_codes_name_themselves(document):
    errors = document["components"]["errors"]
    assert document["components"]["schemas"]["ErrorData"]["properties"]["code"]["enum"] == list(errors)
    assert {name: error["code"] for name, error in errors.items()} == {
        "E_PARSE": -32700, "E_LINE_TOO_LONG": -32700, "E_REQUEST": -32600, "E_DUPLICATE_ID": -32600,
        "E_METHOD": -32601, "E_INVALID": -32602, "E_INTERNAL": -32603, "E_RUNNING": 1001,
        "E_FILE_MISSING": 1002, "E_STORAGE": 1003, "E_VERSION": 1005, "E_SHUTDOWN": 1007}
    for name, error in errors.items():
        assert error["data"]["code"] == name


def test_limits_agree_with_the_schemas(document):
    limits = {name: limit["value"] for name, limit in document["x-limits"].items()}
    params = {(method["name"], param["name"]): param["schema"]
              for method in document["methods"] for param in method["params"]}
    components = document["components"]["schemas"]
    assert params["subscribe", "window"]["maximum"] == limits["maxWindow"]
    assert params["getRequests", "limit"]["maximum"] == limits["pageRows"]
    assert components["EntryId"]["x-maxBytes"] == limits["entryIdBytes"]
    assert components["EntryKey"]["x-maxBytes"] == limits["entryKeyBytes"]
    assert components["RequestId"]["oneOf"][0]["x-maxBytes"] == limits["requestIdBytes"]
    assert components["RequestId"]["oneOf"][1]["maximum"] == limits["maxInteger"]


def test_examples_of_schemas_fit(document, validator):
    found = 0
    for outer, schema in schemas(document):
        for place, inner in subschemas(outer, schema):
            for example in inner.get("examples", []):
                assert validator.check(inner, example, place) == []
                found += 1
    assert found > 20


def test_examples_of_methods_fit(document, validator):
    for method in document["methods"]:
        for pairing in method["examples"]:
            params = {param["name"]: param["value"] for param in pairing["params"]}
            request = {"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": params}
            response = {"jsonrpc": "2.0", "id": 1, "result": pairing["result"]["value"]}
            assert validator.check_request(request) == []
            assert validator.check_response(method["name"], response) == []
        assert method["examples"] or method["name"] == "rpc.discover"


def test_examples_of_events_fit(document, validator):
    for event in document["x-events"]:
        assert event["examples"], event["name"]
        for example in event["examples"]:
            assert validator.check_event({"jsonrpc": "2.0", "method": event["name"], "params": example}) == []


def test_rule_numbers_in_the_document_exist(document):
    text = json.dumps(document)
    assert all(1 <= int(number) <= 53 for number in re.findall(r"\bD(\d+)\b", text))
    assert all(1 <= int(number) <= 306 for number in re.findall(r"\bB(\d+)\b", text))


def request(method="ping", **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def response(**members):
    return {"jsonrpc": "2.0", "id": 1, **members}


def error(code, name, **data):
    return {"code": code, "message": "wrong", "data": {"code": name, **data}}


NOTE = {"url": "https://a.example/"}


@pytest.mark.parametrize("message, problem", [
    ([], "$: is no object"),
    ({"jsonrpc": "2.0", "method": "ping"}, "$: lacks id"),
    ({**request(), "jsonrpc": "1.0"}, "$.jsonrpc: is not '2.0'"),
    ({**request(), "extra": 1}, "$.extra: is not in the document"),
    ({**request(), "id": None}, "$.id: fits 0 of 2 shapes"),
    ({**request(), "id": True}, "$.id: fits 0 of 2 shapes"),
    ({**request(), "id": 1.5}, "$.id: fits 0 of 2 shapes"),
    ({**request(), "id": "é" * 65}, "$.id: fits 0 of 2 shapes"),
    ({**request(), "method": "pong"}, "$.method: 'pong' is no method"),
    ({**request(), "params": []}, "$.params: is no object"),
    (request(extra=1), "$.params.extra: is not in the document"),
    (request("ackEvents"), "$.params: lacks eventIds"),
    (request("cancel", id=""), "$.params.id: has 0 characters"),
    (request("cancel", id="é" * 129), "$.params.id: has 258 bytes"),
    (request("subscribe", events=[]), "$.params.events: has under 1 items"),
    (request("subscribe", events=["resync"]),
     "$.params.events[0]: is none of ['state', 'progress', 'attempt', 'settled', 'group', 'groupSettled']"),
    (request("subscribe", events=["state"], window=1025), "$.params.window: is over 1024"),
    (request("subscribe", events=["state"], window=0), "$.params.window: is under 1"),
    (request("subscribe", events=["state"], window=True), "$.params.window: is no integer"),
    (request("enqueue", key="k", vars=1, request=NOTE), "$.params.vars: fits 0 of 3 shapes"),
    (request("enqueue", key="k", request={**NOTE, "header": {}}),
     "$.params.request.header: is not in the document"),
    (request("enqueue", key="k", request={**NOTE, "form": [{"name": "a", "contentType": "b"}]}),
     "$.params.request.form[0]: fits 0 of 2 shapes"),
    (request("configure", tls={"hosts": {"a": {"pinnedPublicKeys": ["sha1//x"]}}}),
     "$.params.tls: fits 0 of 2 shapes"),
])
def test_wrong_requests_are_found(validator, message, problem):
    assert validator.check_request(message) == [problem]


@pytest.mark.parametrize("message", [
    {"jsonrpc": "2.0", "id": "a", "method": "ping"}, request("pause", keys=[]),
    request("configure", retry=None),
    request("enqueue", key="k", vars=[None], request={**NOTE, "idempotencyKey": False, "data": None})])
def test_right_requests_pass(validator, message):
    assert validator.check_request(message) == []


@pytest.mark.parametrize("method, message, problem", [
    ("ping", response(), "$: has not exactly one of result and error"),
    ("ping", response(result={}), "$.result: lacks now"),
    ("ping", response(result={"now": 1, "then": 2}), "$.result.then: is not in the document"),
    ("pong", response(result={}), "$.result: 'pong' is no method"),
    ("ping", {**response(result={"now": 1}), "id": None}, "$.id: is null beside a result"),
    ("ping", response(error={"code": -32603, "message": "x"}), "$.error: lacks data"),
    ("ping", response(error=error(-32602, "E_INTERNAL")), "$.error.code: E_INTERNAL is -32603"),
    ("ping", response(error=error(1001, "E_RUNNING")), "$.error.data.code: E_RUNNING is no error of ping"),
])
def test_wrong_responses_are_found(validator, method, message, problem):
    assert validator.check_response(method, message) == [problem]


@pytest.mark.parametrize("method, message", [
    ("ping", response(error=error(-32602, "E_INVALID", path="extra"))),
    ("enqueue", response(error=error(1001, "E_RUNNING"))),
    ("pong", response(error=error(-32601, "E_METHOD"))),
    (None, {"jsonrpc": "2.0", "id": None, "error": error(-32700, "E_PARSE")}),
    ("ping", {"jsonrpc": "2.0", "id": None, "error": error(-32600, "E_DUPLICATE_ID", id="a")})])
def test_right_responses_pass(validator, method, message):
    assert validator.check_response(method, message) == []


def test_wrong_events_are_found(document, validator):
    settled = copy.deepcopy(document["components"]["schemas"]["Settled"]["examples"][0])
    event = {"jsonrpc": "2.0", "method": "settled", "params": settled}
    assert validator.check_event(event) == []
    assert validator.check_event({**event, "id": 1}) == ["$.id: is not in the document"]
    assert validator.check_event({**event, "method": "x"}) == ["$.method: 'x' is no event"]
    for change in ({"kind": "error"}, {"state": "error"}, {"kind": "cancelled", "state": "cancelled"}):
        wrong = {**event, "params": {**settled, **change}}
        assert validator.check_event(wrong) == ["$.params: fits 0 of 3 shapes"]


def test_a_schema_outside_the_subset_is_refused(validator):
    with pytest.raises(ValueError):
        validator.check({"type": "string", "format": "uuid"}, "x")


def held(conversation, validator):
    """Checks each message of a conversation; the methods called and the events told."""
    pending, called, events = {}, [], []
    for line in conversation.splitlines():
        message = json.loads(line[2:])
        if line.startswith("> "):
            assert validator.check_request(message) == []
            pending[message["id"]] = message["method"]
            called.append(message["method"])
        elif "id" in message:
            assert line.startswith("< ")
            assert validator.check_response(pending.pop(message["id"]), message) == []
        else:
            assert validator.check_event(message) == []
            events.append(message["method"])
    assert not pending
    return called, events


def test_the_worked_conversations_fit(root, validator):
    text = (root / "protocol" / "README.md").read_text(encoding="utf-8")
    worked, pipeline, clock = [
        held(block, validator) for block in re.findall(r"```jsonl\n(.*?)```", text, re.S)]
    assert worked == (["initialize", "subscribe", "enqueue", "ackEvents", "shutdown"],
                      ["state", "state", "settled"])
    assert pipeline == (["enqueueAll"], [])
    assert clock == (["advanceClock"], ["state"])
