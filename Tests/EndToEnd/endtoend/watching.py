"""What tests of `outtray watch` have in common."""
from . import deadline
from .requests import enqueue


def fill(sidecar, server, count, key="note", path="/held"):
    for number in range(count):
        enqueue(sidecar, server.url(path), id=f"{key}-{number}", key=key, data={"number": number})


def read_slowly(bytes_a_second):
    """Reads the body at this speed, then answers."""
    def step(exchange):
        while not exchange.request.whole:
            exchange.read_body(bytes_a_second // 20)
            exchange.pause(0.05)
        exchange.answer()
    return step


def quit(terminal):
    terminal.type("q")
    assert terminal.wait_exit() == 0
    deadline.until("the terminal is as before", terminal.is_restored)
