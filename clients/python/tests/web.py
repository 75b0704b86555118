"""A loopback HTTP server for end-to-end tests."""

import http.server
import threading


class Server:
    """Answers each request with what `answer(request)` returns: (status, body); keeps what came."""

    def __init__(self, answer=lambda request: (200, b"{}")):
        self.requests, self._lock = [], threading.Lock()
        self.begun, self.reading = threading.Event(), threading.Event()
        self.reading.set()
        server = self

        class Answerer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                server.begun.set()
                server.reading.wait(30)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = {
                    "method": self.command,
                    "path": self.path,
                    "headers": dict(self.headers),
                    "body": body,
                }
                with server._lock:
                    server.requests.append(request)
                status, content = answer(request)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_PUT = do_GET = do_DELETE = do_PATCH = do_POST

            def log_message(self, *all):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answerer)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *all):
        self._server.shutdown()
        self._server.server_close()
