"""The process that a client under certification takes for its sidecar.

    relay.py SOCKET ARGUMENTS...

Connects to the stage and tells it the arguments, as one line of JSON. Then its stdin goes to the stage byte
by byte, and the stage's orders come back: a letter, the length as 4 bytes, the content. O writes to stdout,
E to stderr, X ends the process with that status, K by that signal.
"""
import json
import os
import signal
import socket
import struct
import sys
import threading


def write(descriptor, content):
    while content:
        content = content[os.write(descriptor, content):]


def obey(stage):
    orders = stage.makefile("rb")
    while True:
        head = orders.read(5)
        if len(head) < 5:
            os._exit(70)  # The stage is gone.
        kind, content = head[:1], orders.read(struct.unpack(">I", head[1:])[0])
        if kind == b"X":
            os._exit(int(content))
        if kind == b"K":
            os.kill(os.getpid(), int(content))
        try:
            write({b"O": 1, b"E": 2}[kind], content)
        except BrokenPipeError:
            pass  # The client has stopped reading; the stage learns it from stdin.


def main(path, *arguments):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stage = socket.socket(socket.AF_UNIX)
    stage.connect(path)
    stage.sendall(json.dumps(arguments).encode() + b"\n")
    orders = threading.Thread(target=obey, args=(stage,))
    orders.start()
    while True:
        read = os.read(0, 1 << 16)
        if not read:
            break
        stage.sendall(read)
    stage.shutdown(socket.SHUT_WR)
    orders.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
