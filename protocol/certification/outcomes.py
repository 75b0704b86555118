"""Messages of the played sidecar."""


def row(id, key="note"):
    return {"id": id, "key": key, "vars": None, "state": "queued", "bytesSent": 0, "totalBytes": 0,
            "attempts": 0, "updatedAt": 1764500000000}


def outcome(id, event, changes):
    params = {"eventId": event or f"event-{id}", "id": id, "key": "note", "vars": {"n": None},
              "at": 1764500000000, "generation": 1, "attempts": 1, "requestId": "r-1", "deliveries": 1,
              "bytesSent": 2, "totalBytes": 2, "url": "http://127.0.0.1:9/notes", "method": "POST", **changes}
    return {"method": "settled", "params": params}


def settled(id, event=None, **changes):
    """A completed outcome."""
    response = {"status": 200, "headers": {}, "body": "{}", "bodyTruncated": False}
    return outcome(id, event, {"state": "completed", "kind": "completed", "response": response, **changes})


def failed(id, event=None, kind="http", **changes):
    error = {"errorKind": kind, "message": "HTTP 400"}
    return outcome(id, event, {"state": "error", "kind": "error", "error": error, **changes})


def cancelled(id, event=None, **changes):
    return outcome(id, event, {"state": "cancelled", "kind": "cancelled", "cancelReason": "user", **changes})
