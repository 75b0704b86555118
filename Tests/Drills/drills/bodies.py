"""The bodies that the hosts enqueue: what they are follows from the id, so that nobody has to keep them."""
import hashlib
import json
import os
import random

INLINE_LIMIT = 64 * 1024
KINDS = ("small", "large", "copy", "move", "form", "parts")
PARTS = 3


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Body:
    """What is sent under an id: `fields` for the descriptor, `hashes` by part, `path` of a source
    file and the hash of all of it."""

    def __init__(self, id, kind, url, folder, largest=200_000):
        self.kind = kind
        chance = random.Random(id)
        url = f"{url}?entry={id}"
        self.path = self.source = None
        if kind == "text":
            # Which every language writes the same.
            self.data = json.dumps(f"{id} {'x' * chance.randrange(largest)}")
            self.hashes = {"0": sha256(self.data.encode())}
            self.fields = {"url": url}
            return
        if kind in ("small", "large"):
            size = chance.randrange(200) if kind == "small" else INLINE_LIMIT + chance.randrange(largest)
            text = json.dumps({"entry": id, "filling": "é" + "x" * size})
            self.data = text
            self.hashes = {"0": sha256(text.encode())}
            self.fields = {"url": url}
            return
        self.data = None
        # No part may be empty.
        content = chance.randbytes(PARTS + chance.randrange(largest))
        self.path = os.path.join(folder, id)
        with open(self.path, "wb") as file:
            file.write(content)
        self.source = sha256(content)
        self.hashes = {"0": self.source}
        if kind == "form":
            form = [{"name": "entry", "contentType": "text/plain", "string": id},
                    {"name": "file", "contentType": "application/octet-stream", "path": self.path}]
            self.fields = {"url": f"{url}&form=1", "form": form}
        elif kind == "parts":
            edges = [len(content) * part // PARTS for part in range(PARTS + 1)]
            pieces = list(zip(edges, edges[1:]))
            self.hashes = {str(part): sha256(content[start:end]) for part, (start, end) in enumerate(pieces)}
            self.fields = {"method": "PUT", "file": self.path, "parts": [
                {"url": f"{url}&part={part}", "range": {"start": start, "end": end}}
                for part, (start, end) in enumerate(pieces)]}
        else:
            self.fields = {"url": url, "method": "PUT", "file": self.path, "staging": kind}

    @property
    def moves(self):
        """The path of a file that the sidecar is given, not lent."""
        return self.path if self.kind in ("move", "parts") else None

    def value(self, **fields):
        """The descriptor as a value, for a client that writes the JSON itself."""
        return {**self.fields, **fields, **({} if self.data is None else {"data": json.loads(self.data)})}

    def request(self, **fields):
        """The descriptor as JSON text; `data` stands in it as it was spelt."""
        text = json.dumps({**self.fields, **fields}, ensure_ascii=False)
        return text if self.data is None else f'{text[:-1]}, "data": {self.data}}}'
