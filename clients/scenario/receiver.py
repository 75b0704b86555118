"""The server that a scenario uploads to: answers by script, and keeps what arrived."""
import email.parser
import email.policy
import hashlib
import http.server
import threading

SECONDS = 20
KEPT = ("content-range", "token", "x-kind")


def digest(content):
    return f"{len(content)} bytes {hashlib.sha256(content).hexdigest()[:12]}"


def described(headers, body):
    """What a body is. The fields of a form stand for it, since its boundary is never the same."""
    kind = headers.get("Content-Type", "")
    if not kind.startswith("multipart/form-data"):
        return digest(body)
    text = b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body
    parts = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(text).iter_parts()
    return [[part.get_param("name", header="content-disposition"), part.get_filename(),
             part.get_content_type(), digest(part.get_payload(decode=True))] for part in parts]


class Receiver:
    """`answers` holds, by path, what is answered in turn; the last one stays."""

    def __init__(self):
        self.changed = threading.Condition()
        self.answers, self.requests, self.begun, self.free = {}, {}, {}, set()
        receiver = self

        class Answerer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.take(self)

            do_PUT = do_GET = do_PATCH = do_DELETE = do_POST

            def log_message(self, *all):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answerer)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *all: None  # A sidecar that is killed cuts its connections.
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        path = request.path
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        with self.changed:
            turns = self.answers.get(path, [200])
            number = self.begun[path] = self.begun.get(path, 0) + 1
            turn = turns[min(number, len(turns)) - 1]
            answer = turn if isinstance(turn, dict) else {"status": turn}
            self.changed.notify_all()
            if answer.get("hold"):
                self.changed.wait_for(lambda: path in self.free, SECONDS)
        content = (answer.get("body", "{}") * answer.get("times", 1)).encode()
        headers = {name: request.headers[name] for name in KEPT if name in request.headers}
        told = {"method": request.command, "body": described(request.headers, body),
                "status": answer["status"], **({"headers": headers} if headers else {})}
        with self.changed:
            self.requests.setdefault(path, []).append(told)
        request.send_response(answer["status"])
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def arrived(self, path, count):
        """Waits until so many requests for a path have begun; answers them as told."""
        with self.changed:
            return self.changed.wait_for(lambda: self.begun.get(path, 0) >= count, SECONDS)

    def let_go(self, path):
        with self.changed:
            self.free.add(path)
            self.changed.notify_all()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
