"""A scripted HTTP/2 server that speaks frames itself (RFC 9113): it can refuse, send away and stand still.

A script is a function of the Stream that has ended; without one each stream is answered 200. Heads are not
read: what a stream is about, its body says.
"""
import socket
import ssl
import struct
import threading

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
INITIAL_WINDOW_SIZE = 4
NO_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM = 0, 7, 11
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Stream:
    """One request: its body so far, and how it ended."""

    def __init__(self, connection, number):
        self.connection = connection
        self.number = number
        self.body = bytearray()
        self.is_whole = False
        self.is_over = False
        self.reset_with = None

    def answer(self, status=200, ends=True):
        """The head of an answer, and its end unless told otherwise."""
        # Literal fields without indexing; 8 is `:status` in the static table of RFC 7541.
        head = b"\x08\x03" + str(status).encode()
        self.connection.send(HEADERS, END_HEADERS | (END_STREAM if ends else 0), self.number, head)

    def refuse(self, code=REFUSED_STREAM):
        """Resets it; what still comes of it is dropped."""
        self.is_over = True
        self.connection.send(RST_STREAM, 0, self.number, struct.pack(">I", code))


class Connection:
    def __init__(self, server, sock):
        self.server = server
        self.socket = sock
        self.streams = {}
        self.is_sent_away = False

    def send(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
                            + struct.pack(">I", stream) + payload)

    def send_away(self, code=NO_ERROR, but=None):
        """GOAWAY: no stream above those that were whole by now, `but` that one left out, is looked at."""
        self.is_sent_away = True
        last = max((stream.number for stream in self.streams.values()
                    if stream.is_whole and stream is not but), default=0)
        self.send(GOAWAY, 0, 0, struct.pack(">II", last, code))

    def serve(self):
        if self._read(len(PREFACE)) != PREFACE:
            raise ValueError("no preface of HTTP/2")
        self.send(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, self.server.window))
        while True:
            head = self._read(9)
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            self._take(kind, flags, int.from_bytes(head[5:], "big"), self._read(size))

    def _read(self, count):
        data = bytearray()
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionError("the end")
            data += piece
        return bytes(data)

    def _take(self, kind, flags, number, payload):
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == HEADERS and not self.is_sent_away:
            stream = self.streams[number] = Stream(self, number)
            with self.server.lock:
                self.server.streams.append(stream)
            self._end(stream, flags)
        elif kind == RST_STREAM and number in self.streams:
            self.streams[number].reset_with = struct.unpack(">I", payload)[0]
        elif kind == DATA and number in self.streams:
            self._take_data(self.streams[number], flags, payload)

    def _take_data(self, stream, flags, payload):
        data = payload[1:len(payload) - payload[0]] if flags & PADDED else payload
        if not stream.is_over:
            stream.body += data
            self.server.before_window(stream)
        if payload and not self.is_sent_away:
            # What is dropped has used up the window of the connection as well.
            for number in [0] if stream.is_over else [0, stream.number]:
                self.send(WINDOW_UPDATE, 0, number, struct.pack(">I", len(payload)))
        if not stream.is_over:
            self._end(stream, flags)

    def _end(self, stream, flags):
        if flags & END_STREAM:
            stream.is_whole = True
            self.server.script(stream)


class FrameServer:
    """Listens with TLS on a free port of loopback until `close`; `window` is that of each stream."""

    def __init__(self, certificate, script=Stream.answer, window=65_535, before_window=lambda stream: None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.path, certificate.key)
        context.set_alpn_protocols(["h2"])
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.script = script
        self.window = window
        self.before_window = before_window
        self.lock = threading.Lock()
        self.connections = []
        self.streams = []
        self.faults = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path="/"):
        return f"https://127.0.0.1:{self.port}{path}"

    def seen(self):
        with self.lock:
            return list(self.streams)

    def bodies(self):
        """The bodies of the streams that were whole, in order."""
        return [bytes(stream.body) for stream in self.seen() if stream.is_whole]

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # The peer was first.
        assert not self.faults, self.faults

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            # Or the two updates of a window wait for each other's acknowledgement.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._context.wrap_socket(sock, server_side=True) as secure:
                connection = Connection(self, secure)
                with self.lock:
                    self.connections.append(connection)
                connection.serve()
        except (OSError, ConnectionError):
            pass  # The test decides by what was recorded.
        except ValueError as fault:
            self.faults.append(str(fault))
