"""The observation server: takes photos and sounds, observations, and what belongs to which.

    python3 clients/pipeline/server.py [--port N] [--database FILE] [--tokens] [--lose-answers P] [--seed S]

POST   /photos, /sounds                    a form with uuid and file; 201 {"id", "uuid"}
POST   /observations                       {"uuid", "note"}; 201 {"id", "uuid"}
PUT    /observations/ID?ignore_photos=true {"note"}; without ignore_photos everything attached is taken off
DELETE /observations/ID                    from then on 410
POST   /observations/ID/photos, /sounds    {"photo_id" or "sound_id", "uuid"}; 201 {"id", "uuid"}
POST   /token                              {"seconds", "uses"}, optional; 201 {"token"}; expired it is 401
GET    /state                              every row, and every request in the order of the commits

A token stands in Authorization, with or without Bearer. With --tokens each request needs one; else only a
token that is not valid is refused. A 2xx to a request with Idempotency-Key is kept, and given again to the
same request. --lose-answers cuts the connection with that probability where the answer should come, after the
commit.
"""
import argparse
import email.message
import http.server
import json
import socket
import sys
import threading
import urllib.parse

from ledger import Answer, File, Ledger, Refused, Request


def form_fields(kind, body):
    """The fields of multipart/form-data by name."""
    header = email.message.Message()
    header["Content-Type"] = kind
    boundary = header.get_param("boundary")
    if not boundary:
        raise Refused(400, "Content-Type has no boundary")
    fields = {}
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    if len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        raise Refused(400, "the form has no end")
    for piece in pieces[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        part = email.message.Message()
        for line in head.decode("utf-8", "replace").split("\r\n"):
            name, found, value = line.partition(":")
            if found:
                part[name] = value.strip()
        name = part.get_param("name", header="content-disposition")
        file = part.get_param("filename", header="content-disposition")
        fields[name] = content.decode("utf-8", "replace") if file is None else File(file, content)
    return fields


def json_fields(body):
    try:
        fields = json.loads(body or b"{}")
    except ValueError as fault:
        raise Refused(400, f"the body is no JSON: {fault}") from None
    if not isinstance(fields, dict):
        raise Refused(400, "the body is no JSON object")
    return fields


class Answerer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body go out together; in two packets the second would wait for the first to be acknowledged.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            answer = self.answer(body)
        except Refused as refusal:
            answer = Answer(refusal.status, json.dumps({"error": refusal.error}))
        if answer.lost:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_DELETE = do_POST

    def answer(self, body):
        ledger, url = self.server.ledger, urllib.parse.urlsplit(self.path)
        if (self.command, url.path) == ("GET", "/state"):
            return Answer(200, json.dumps(ledger.state()))
        kind = self.headers.get("Content-Type", "")
        fields = form_fields(kind, body) if kind.startswith("multipart/form-data") else json_fields(body)
        if (self.command, url.path) == ("POST", "/token"):
            unknown = set(fields) - {"seconds", "uses"}
            if unknown or not all(type(value) in (int, float) for value in fields.values()):
                raise Refused(400, "a token has seconds and uses, both numbers")
            return Answer(201, json.dumps({"token": ledger.new_token(**fields)}))
        token = self.headers.get("Authorization")
        return ledger.take(Request(
            self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), fields,
            key=self.headers.get("Idempotency-Key"), token=token and token.removeprefix("Bearer ").strip()))

    def log_message(self, *all):
        pass


class ObservationServer(http.server.ThreadingHTTPServer):
    """Serves on loopback from a thread of its own until it is closed."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, ledger, port=0):
        super().__init__(("127.0.0.1", port), Answerer)
        self.ledger = ledger
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, args=[0.05], daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        # A client that is killed cuts its connections; what else goes wrong is a defect and is shown.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def close(self):
        self.shutdown()
        self.server_close()


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database", default=":memory:")
    parser.add_argument("--tokens", action="store_true")
    parser.add_argument("--lose-answers", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    ledger = Ledger(options.database, options.tokens, options.lose_answers, options.seed)
    server = ObservationServer(ledger, options.port)
    print(server.url, flush=True)
    try:
        server.thread.join()
    except KeyboardInterrupt:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
