"""A scripted HTTP server on a raw socket: it records every byte and answers exactly as told.

A script is a list of steps for one path; each request takes the next step, the last one stays. A step is a
function of the Exchange. It is the tests' own because a well-behaved server cannot show what a bad one does.
"""
import hashlib
import re
import select
import socket
import struct
import threading
import time

from . import deadline

TCP_ESTABLISHED = 1
KEEP_BODY = 8 * 1024 * 1024
REQUEST_LINE = re.compile(rb"^(POST|PUT|PATCH|DELETE|GET) ([^ ]+) HTTP/1\.1$")


class Gone(Exception):
    """The connection has ended, or the server is closing."""


class Request:
    """What arrived: the head as bytes, the body, and when."""

    def __init__(self, connection, head):
        self.connection = connection
        self.head = head
        lines = head[:-4].split(b"\r\n")
        match = REQUEST_LINE.match(lines[0])
        if not match:
            raise ValueError(f"no request line: {lines[0][:200]!r}")
        self.method = match[1].decode("ascii")
        self.target = match[2].decode("ascii")
        self.path = self.target.partition("?")[0]
        self.lines = lines[1:]
        self.headers = []
        for line in self.lines:
            name, colon, value = line.partition(b":")
            if not colon or not name or name != name.strip():
                raise ValueError(f"no header line: {line[:200]!r}")
            self.headers.append((name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")))
        self.body = b""
        self.body_length = 0
        self.hash = hashlib.sha256()
        self.whole = False
        self.at = time.monotonic()

    def values(self, name):
        return [value for header, value in self.headers if header == name.lower()]

    def header(self, name):
        """The one value of this header, or None; AssertionError when there are several."""
        values = self.values(name)
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def request_id(self):
        return self.header("x-request-id")

    @property
    def length(self):
        """Content-Length, or None."""
        value = self.header("content-length")
        return None if value is None else int(value)

    @property
    def chunked(self):
        return bool(self.values("transfer-encoding"))

    @property
    def sha256(self):
        return self.hash.hexdigest()

    def _take(self, piece):
        self.body_length += len(piece)
        self.hash.update(piece)
        if len(self.body) < KEEP_BODY:
            self.body += piece[:KEEP_BODY - len(self.body)]


class Connection:
    """One accepted socket."""

    def __init__(self, server, sock, number):
        self.server = server
        self.socket = sock
        self.number = number
        self.rest = b""
        self.raw = bytearray()
        self.closed = threading.Event()

    def read(self, limit=1 << 18):
        """The next bytes; b"" at the end. Raises Gone when it is cut or the server closes."""
        if self.rest:
            piece, self.rest = self.rest[:limit], self.rest[limit:]
            return piece
        while not self.server.closing.is_set():
            readable = select.poll()
            readable.register(self.socket, select.POLLIN)
            if not readable.poll(100):
                continue
            try:
                piece = self.socket.recv(limit)
            except OSError as fault:
                self.closed.set()
                raise Gone from fault
            if not piece:
                self.closed.set()
            elif len(self.raw) < KEEP_BODY:
                self.raw += piece
            return piece
        raise Gone

    def peer_closed(self):
        """Whether the peer has ended the connection, though bytes of it may still wait to be read."""
        try:
            state = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        except OSError:
            state = None
        if state != TCP_ESTABLISHED:
            self.closed.set()
        return self.closed.is_set()


class Exchange:
    """One request on its connection, in the hands of a step."""

    def __init__(self, connection, request):
        self.connection = connection
        self.request = request
        self._unread = None if request.chunked else (request.length or 0)
        self.keep_alive = True

    def read_body(self, limit=None):
        """Reads the rest of the body, or at most `limit` bytes of it."""
        if self.request.chunked:
            return self._read_chunked()
        while self._unread > 0 and limit != 0:
            piece = self.connection.read(min(self._unread, limit or 1 << 18, 1 << 18))
            if not piece:
                raise Gone
            self._unread -= len(piece)
            limit = None if limit is None else limit - len(piece)
            self.request._take(piece)
        if self._unread == 0:
            self.request.whole = True

    def send(self, data):
        """Sends bytes as they are."""
        try:
            self.connection.socket.sendall(data)
        except OSError as fault:
            raise Gone from fault

    def answer(self, status=200, headers=(), body=b"", reason="Said"):
        """Sends a whole answer with its length."""
        self.send(head(status, [*headers, ("Content-Length", str(len(body)))], reason) + body)

    def close(self):
        """Ends the connection in order."""
        self.keep_alive = False
        try:
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The peer was first.
        self.connection.socket.close()

    def reset(self):
        """Ends the connection with a RST."""
        self.keep_alive = False
        self.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.socket.close()

    def hold(self, gate):
        """Waits for `gate`; raises Gone when the peer or the server ends first."""
        while not gate.wait(0.01):
            if self.connection.server.closing.is_set() or self.connection.peer_closed():
                raise Gone

    def pause(self, seconds):
        """Lets time pass, unless the peer or the server ends first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.connection.server.closing.wait(min(0.02, seconds)) or self.connection.peer_closed():
                raise Gone

    def _read_chunked(self):
        data = bytearray()

        def line():
            while b"\r\n" not in data:
                piece = self.connection.read()
                if not piece:
                    raise Gone
                data.extend(piece)
            text, _, rest = bytes(data).partition(b"\r\n")
            data[:] = rest
            return text

        while True:
            size = int(line().split(b";")[0], 16)
            while len(data) < size + 2:
                piece = self.connection.read()
                if not piece:
                    raise Gone
                data.extend(piece)
            self.request._take(bytes(data[:size]))
            del data[:size + 2]
            if size == 0:
                self.request.whole = True
                self.connection.rest = bytes(data)
                return


def head(status, headers=(), reason="Said"):
    """The bytes of an answer's head."""
    lines = [f"HTTP/1.1 {status} {reason}"] + [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


# Steps

def reply(status=200, headers=(), body=b""):
    """Reads the body, then answers."""
    def step(exchange):
        exchange.read_body()
        exchange.answer(status, headers, body)
    return step


def raw_reply(data, close=True):
    """Reads the body, then sends these bytes, and ends the connection unless told otherwise."""
    def step(exchange):
        exchange.read_body()
        exchange.send(data)
        if close:
            exchange.close()
    return step


def hold(gate, then=None):
    """Reads the body and waits for `gate` before it goes on with `then` (default: 200)."""
    def step(exchange):
        exchange.read_body()
        exchange.hold(gate)
        (then or reply())(exchange)
    return step


def discard(exchange):
    """Counts the body, keeps and hashes none of it, and answers."""
    while exchange.request.body_length < exchange.request.length:
        piece = exchange.connection.read(1 << 20)
        if not piece:
            raise Gone
        exchange.request.body_length += len(piece)
    exchange.request.whole = True
    exchange.answer()


def early(status, headers=(), body=b"", linger=0.5):
    """Answers without reading the body, and ends the connection after `linger` seconds."""
    def step(exchange):
        exchange.answer(status, headers, body)
        exchange.pause(linger)
        exchange.close()
    return step


def hang_up(read=None):
    """Reads `read` bytes of the body (all when None) and ends the connection without an answer."""
    def step(exchange):
        exchange.read_body(read)
        exchange.close()
    return step


class RawServer:
    """Listens on a free port of loopback until `close`."""

    def __init__(self, address="127.0.0.1", port=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((address, port))
        self._listener.listen(1024)
        self.address = address
        self.port = self._listener.getsockname()[1]
        self.closing = threading.Event()
        self.requests = []
        self.connections = []
        self.faults = []
        self._scripts = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path="/"):
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}{path}"

    def on(self, path, *steps):
        """Scripts a path; returns its URL. A path without a script is answered 200."""
        with self._lock:
            self._scripts[path] = list(steps)
        return self.url(path)

    def seen(self, path=None):
        """The requests so far, in order of their heads."""
        with self._lock:
            return [request for request in self.requests if path is None or request.path == path]

    def forget(self):
        """Lets go of the requests so far, for long tests; returns how many."""
        with self._lock:
            requests, self.requests = self.requests, []
        return len(requests)

    def wait_requests(self, count, path=None, seconds=deadline.SECONDS):
        """Waits until `count` heads arrived; returns the requests."""
        deadline.until(f"{count} requests for {path or 'any path'} (got {len(self.seen(path))})",
                       lambda: len(self.seen(path)) >= count, seconds)
        return self.seen(path)

    def quiet(self, seconds, path=None):
        """Watches that no further request arrives for `seconds`."""
        before = len(self.seen(path))
        time.sleep(seconds)
        late = self.seen(path)[before:]
        assert not late, f"{len(late)} more requests: {[request.head[:100] for request in late]}"

    def close(self):
        self.closing.set()
        # Shut down first: a close alone leaves the thread in accept, and the port with it.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # Already closed.
        self._listener.close()

    def check(self):
        """Raises when something arrived that is no request."""
        assert not self.faults, self.faults

    def _accept(self):
        while not self.closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                connection = Connection(self, sock, len(self.connections))
                self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            while (request := self._read_head(connection)) is not None:
                exchange = Exchange(connection, request)
                self._step(request)(exchange)
                if not exchange.keep_alive or not request.whole:
                    break
        except Gone:
            pass  # The test decides by what was recorded.
        except ValueError as fault:
            self.faults.append(str(fault))
        finally:
            connection.closed.set()
            connection.socket.close()

    def _read_head(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.read()
            if not piece:
                if data:
                    self.faults.append(f"a cut head: {data[:200]!r}")
                return None
            data += piece
        end = data.index(b"\r\n\r\n") + 4
        connection.rest = data[end:] + connection.rest
        request = Request(connection, data[:end])
        with self._lock:
            self.requests.append(request)
        return request

    def _step(self, request):
        with self._lock:
            script = self._scripts.get(request.path)
            if not script:
                return reply()
            return script.pop(0) if len(script) > 1 else script[0]
