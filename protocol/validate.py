"""Checks messages against openrpc.json. Knows the part of JSON Schema 2020-12 that the document uses.

    validator = Validator(json.load(open("protocol/openrpc.json")))
    validator.check_request({"jsonrpc": "2.0", "id": 1, "method": "ping"})      # [] when it is right
    validator.check_response("ping", {"jsonrpc": "2.0", "id": 1, "result": {"now": 0}})
    validator.check_event({"jsonrpc": "2.0", "method": "resync", "params": {}})

A problem is a line of text that begins with the path of the value. Members that the document does not list
are problems in every message: clients ignore them, but the sidecar must not send what is not published.
"""
import re

ANNOTATIONS = {"description", "examples"}
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "minItems", "minLength",
            "maxLength", "pattern", "minimum", "maximum", "enum", "const", "oneOf", "$ref"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in ("integer", "number"):
        return type(value) is int or name == "number" and type(value) is float
    return isinstance(value, TYPES[name])


def same(left, right):
    """JSON equality: 1 and true differ, though Python holds them equal."""
    return type(left) is type(right) and left == right


class Validator:
    def __init__(self, document):
        self.document = document
        self.methods = {method["name"]: method for method in document["methods"]}
        self.events = {event["name"]: event for event in document["x-events"]}
        self.errors = document["components"]["errors"]

    def resolve(self, reference):
        """What a reference inside the document points to; KeyError when it points to nothing."""
        if not reference.startswith("#/"):
            raise KeyError(reference)
        value = self.document
        for step in reference[2:].split("/"):
            value = value[step]
        return value

    def check(self, schema, value, path="$"):
        """Problems of `value` under `schema`; ValueError when the schema leaves the subset."""
        others = sorted(schema.keys() - KEYWORDS - ANNOTATIONS)
        strange = [word for word in others if not word.startswith("x-")]
        if strange:
            raise ValueError(f"{path}: the schema uses {', '.join(strange)}")
        problems = []
        if "$ref" in schema:
            problems += self.check(self.resolve(schema["$ref"]), value, path)
        if "const" in schema and not same(value, schema["const"]):
            problems.append(f"{path}: is not {schema['const']!r}")
        if "enum" in schema and not any(same(value, allowed) for allowed in schema["enum"]):
            problems.append(f"{path}: is none of {schema['enum']}")
        if "type" in schema and not is_type(value, schema["type"]):
            return problems + [f"{path}: is no {schema['type']}"]
        if "oneOf" in schema:
            fitting = [option for option in schema["oneOf"] if not self.check(option, value, path)]
            if len(fitting) != 1:
                problems.append(f"{path}: fits {len(fitting)} of {len(schema['oneOf'])} shapes")
        if isinstance(value, dict):
            problems += self.check_object(schema, value, path)
        elif isinstance(value, list):
            problems += self.check_list(schema, value, path)
        elif isinstance(value, str):
            problems += self.check_string(schema, value, path)
        elif not isinstance(value, bool) and value is not None:
            if value < schema.get("minimum", value):
                problems.append(f"{path}: is under {schema['minimum']}")
            if value > schema.get("maximum", value):
                problems.append(f"{path}: is over {schema['maximum']}")
        return problems

    def check_object(self, schema, value, path):
        problems = [f"{path}: lacks {name}" for name in schema.get("required", []) if name not in value]
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", "type" not in schema)
        for name, member in value.items():
            place = f"{path}.{name}"
            if name in known:
                problems += self.check(known[name], member, place)
            elif others is False:
                problems.append(f"{place}: is not in the document")
            elif others is not True:
                problems += self.check(others, member, place)
        return problems

    def check_list(self, schema, value, path):
        problems = []
        if len(value) < schema.get("minItems", 0):
            problems.append(f"{path}: has under {schema['minItems']} items")
        for index, item in enumerate(value):
            problems += self.check(schema.get("items", {}), item, f"{path}[{index}]")
        return problems

    def check_string(self, schema, value, path):
        problems = []
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            problems.append(f"{path}: has {len(value)} characters")
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > schema.get("x-maxBytes", size):
            problems.append(f"{path}: has {size} bytes")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            problems.append(f"{path}: does not match {schema['pattern']}")
        return problems

    def check_envelope(self, message, required, allowed):
        if not isinstance(message, dict):
            return ["$: is no object"]
        problems = [f"$: lacks {name}" for name in required if name not in message]
        problems += [f"$.{name}: is not in the document" for name in message if name not in allowed]
        if "jsonrpc" in message and message["jsonrpc"] != "2.0":
            problems.append("$.jsonrpc: is not '2.0'")
        return problems

    def check_request(self, message):
        required = ["jsonrpc", "id", "method"]
        problems = self.check_envelope(message, required, required + ["params"])
        if problems:
            return problems
        problems = self.check(self.resolve("#/components/schemas/RequestId"), message["id"], "$.id")
        method = self.methods.get(message["method"]) if isinstance(message["method"], str) else None
        if method is None:
            return problems + [f"$.method: {message['method']!r} is no method"]
        schema = {"type": "object", "additionalProperties": False,
                  "properties": {param["name"]: param["schema"] for param in method["params"]},
                  "required": [param["name"] for param in method["params"] if param.get("required")]}
        return problems + self.check(schema, message.get("params", {}), "$.params")

    def check_response(self, method, message):
        """`method` is the name the request had, or None when the line was no request."""
        problems = self.check_envelope(message, ["jsonrpc", "id"], ["jsonrpc", "id", "result", "error"])
        if problems:
            return problems
        if ("result" in message) == ("error" in message):
            return ["$: has not exactly one of result and error"]
        if message["id"] is not None:
            problems = self.check(self.resolve("#/components/schemas/RequestId"), message["id"], "$.id")
        if "error" in message:
            return problems + self.check_error(method, message["error"])
        if message["id"] is None:
            problems.append("$.id: is null beside a result")
        if method not in self.methods:
            return problems + [f"$.result: {method!r} is no method"]
        return problems + self.check(self.methods[method]["result"]["schema"], message["result"], "$.result")

    def check_error(self, method, error):
        schema = {"type": "object", "required": ["code", "message", "data"], "additionalProperties": False,
                  "properties": {"code": {"type": "integer"}, "message": {"type": "string", "minLength": 1},
                                 "data": {"$ref": "#/components/schemas/ErrorData"}}}
        problems = self.check(schema, error, "$.error")
        if problems:
            return problems
        name = error["data"]["code"]
        if error["code"] != self.errors[name]["code"]:
            problems.append(f"$.error.code: {name} is {self.errors[name]['code']}")
        allowed = self.document["x-errors"]["everyMethod"]
        if method in self.methods:
            allowed = self.methods[method]["errors"]
        if {"$ref": f"#/components/errors/{name}"} not in allowed + self.document["x-errors"]["frame"]:
            problems.append(f"$.error.data.code: {name} is no error of {method}")
        return problems

    def check_event(self, message):
        names = ["jsonrpc", "method", "params"]
        problems = self.check_envelope(message, names, names)
        if problems:
            return problems
        event = self.events.get(message["method"]) if isinstance(message["method"], str) else None
        if event is None:
            return [f"$.method: {message['method']!r} is no event"]
        return self.check(event["params"], message["params"], "$.params")
