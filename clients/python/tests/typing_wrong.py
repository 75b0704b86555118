"""B98: each line marked `wrong` must be refused by the type checkers, and no other. It is never run."""

from __future__ import annotations

from typing import Any, List

from typing_right import NoteVars, attach_request, bare_request, loaded, note_request, parse

from outtray import Descriptor, Meta, UploadClient

client = UploadClient("/tmp/q")
note = client.define(key="note", request=note_request, response=parse, on_success=loaded)
bare = client.define(key="bare", request=bare_request)


def takes_text(value: str, vars: NoteVars, meta: Meta) -> None: ...


def takes_ids(value: List[int], vars: NoteVars, meta: Meta) -> None: ...


def bad_method(vars: NoteVars) -> Descriptor:
    return {"url": "https://api.test", "method": "HEAD"}  # wrong


def misspelt(vars: NoteVars) -> Descriptor:
    return {"url": "https://api.test", "header": {}}  # wrong


def number(vars: NoteVars) -> int:
    return 7


def anything(raw: Any) -> Any: ...


note.mutate({"site": "s"})  # wrong
note.mutate({"site": 7, "text": None})  # wrong
note.mutate({"site": "s", "text": None, "more": 1})  # wrong
note.mutate()  # wrong
note.mutate("s")  # wrong
bare.mutate({"a": 1})  # wrong
client.define(key="a", request=note_request, response=parse, on_success=takes_text)  # wrong
client.define(key="b", request=note_request, on_success=takes_ids)  # wrong
client.define(key="c", request=number)  # wrong
client.define(request=note_request)  # wrong
client.pause(["note"])  # wrong
client.configure(lifetime=5)  # wrong
client.configure(retry={"backoff": {"baseMs": 1}})  # wrong
pipeline = client.pipeline(groups="g")  # wrong
steps = client.pipeline(group="g")
steps.add(note)  # wrong
steps.add(note, {"site": "s"})  # wrong
steps.add(bare, bind={"a": {"pointer": ""}})  # wrong
steps.add(note, NoteVars(site="s", text=None), on_failure="stop")  # wrong
steps.enqueue()[0]  # wrong
client.on_group_settled(note_request)  # wrong
client.define(key="d", request=attach_request, on_success=takes_ids)  # wrong
