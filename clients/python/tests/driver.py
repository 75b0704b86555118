"""The driver that protocol/certify.py asks for.  driver.py sync|async"""

import asyncio
import json
import pathlib
import re
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

from outtray import AsyncUploadClient, OuttrayError, UploadClient  # noqa: E402

OUT = threading.Lock()


def report(**message):
    with OUT:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def failure(n, error):
    code, path = getattr(error, "code", type(error).__name__), getattr(error, "path", None)
    report(n=n, failed={"code": code, "message": str(error), "path": path})


def on_warning(message, detail=None):
    report(warning=message)


def arguments(args):
    """A last object is what Python passes by keyword."""
    if args and isinstance(args[-1], dict):
        return args[:-1], {snake(name): value for name, value in args[-1].items()}
    return args, {}


def entered(name, value, meta):
    report(handler=name, id=meta["id"], key=meta["key"], value=value, deliveries=meta["deliveries"])


def options(message):
    given = {snake(name): value for name, value in message.get("options", {}).items()}
    headers = given.get("headers")
    return {**given, "headers": lambda: headers} if headers is not None else given


class Driver:
    def __init__(self):
        self.definitions, self.holds, self.client = {}, {}, None

    def parser(self, message):
        def refuse(raw):
            raise ValueError("told to fail")

        return {"throw": refuse, True: lambda raw: raw}.get(message.get("parser"))

    def request(self, vars):
        return vars["request"]

    def listen(self, message):
        event = message["event"]
        self.client.add_listener(event, lambda params: report(event=event, params=params))


class Threads(Driver):
    def handler(self, name, mode):
        def run(value, vars, meta):
            held = self.holds.setdefault(meta["id"], threading.Semaphore(0))
            entered(name, value, meta)
            if mode == "throw":
                raise RuntimeError("told to fail")
            if mode == "hold":
                held.acquire()

        return run

    def do(self, message):
        do = message["do"]
        if do == "open":
            self.client = UploadClient(dir=message["dir"], on_warning=on_warning, **options(message))
        elif do == "define":
            mode = message.get("handler", "pass")
            self.definitions[message["key"]] = self.client.define(
                key=message["key"],
                request=self.request,
                response=self.parser(message),
                on_success=self.handler("onSuccess", mode),
                on_error=self.handler("onError", mode),
            )
        elif do == "configure":
            self.client.configure(**options(message))
        elif do == "mutate":
            return {"id": self.definitions[message["key"]].mutate(message["vars"], id=message.get("id"))}
        elif do == "call":
            args, named = arguments(message["args"])
            return getattr(self.client, snake(message["name"]))(*args, **named)
        elif do == "listen":
            self.listen(message)
        elif do == "let":
            self.holds[message["id"]].release()
        elif do == "close":
            self.client.close()

    def carry_out(self, message):
        try:
            report(n=message["n"], done=self.do(message))
        except OuttrayError as error:
            failure(message["n"], error)

    def main(self):
        for line in sys.stdin:
            message = json.loads(line)
            threading.Thread(target=self.carry_out, args=(message,), daemon=True).start()


class Coroutines(Driver):
    def handler(self, name, mode):
        async def run(value, vars, meta):
            held = self.holds.setdefault(meta["id"], asyncio.Semaphore(0))
            entered(name, value, meta)
            if mode == "throw":
                raise RuntimeError("told to fail")
            if mode == "hold":
                await held.acquire()

        return run

    async def do(self, message):
        do = message["do"]
        if do == "open":
            self.client = AsyncUploadClient(dir=message["dir"], on_warning=on_warning, **options(message))
        elif do == "define":
            mode = message.get("handler", "pass")
            self.definitions[message["key"]] = self.client.define(
                key=message["key"],
                request=self.request,
                response=self.parser(message),
                on_success=self.handler("onSuccess", mode),
                on_error=self.handler("onError", mode),
            )
        elif do == "configure":
            await self.client.configure(**options(message))
        elif do == "mutate":
            mutate = self.definitions[message["key"]].mutate
            return {"id": await mutate(message["vars"], id=message.get("id"))}
        elif do == "call":
            args, named = arguments(message["args"])
            value = getattr(self.client, snake(message["name"]))(*args, **named)
            return await value if asyncio.iscoroutine(value) else value
        elif do == "listen":
            self.listen(message)
        elif do == "let":
            self.holds[message["id"]].release()
        elif do == "close":
            await self.client.close()

    async def carry_out(self, message):
        try:
            report(n=message["n"], done=await self.do(message))
        except OuttrayError as error:
            failure(message["n"], error)

    async def main(self):
        loop = asyncio.get_running_loop()
        tasks = set()
        while True:
            line = await loop.run_in_executor(None, sys.stdin.readline)
            if not line:
                return
            task = loop.create_task(self.carry_out(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    if sys.argv[1:] == ["async"]:
        asyncio.run(Coroutines().main())
    else:
        Threads().main()
