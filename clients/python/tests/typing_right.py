"""B98: code that must pass the type checkers. It is never run."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, TypedDict

from outtray import (
    AsyncUploadClient,
    Bound,
    Descriptor,
    GroupOutcome,
    GroupStatus,
    Meta,
    OutcomeError,
    Response,
    Row,
    UploadClient,
    chunk_plan,
)
from outtray.testing import create_fake_sidecar


class NoteVars(TypedDict):
    site: str
    text: Optional[str]


@dataclasses.dataclass(frozen=True)
class Photo:
    path: str
    tags: Tuple[str, ...] = ()


def note_request(vars: NoteVars) -> Descriptor:
    return {"url": "https://api.test/" + vars["site"], "data": {"text": vars["text"]}, "method": "PUT"}


def parse(raw: Any) -> List[int]:
    return [int(one) for one in raw]


def parse_with(raw: Any, vars: NoteVars) -> Dict[str, int]:
    return {vars["site"]: int(raw)}


def loaded(ids: List[int], vars: NoteVars, meta: Meta) -> None:
    print(ids[0] + 1, vars["site"].upper(), meta["deliveries"] + 1)


async def loaded_later(by_site: Dict[str, int], vars: NoteVars, meta: Meta) -> None:
    print(by_site["x"] + 1)


def failed(error: OutcomeError, vars: NoteVars, meta: Meta) -> None:
    print(error["errorKind"], error["message"], error.get("response", {}), meta.get("requestId"))


def plain(response: Response, vars: NoteVars, meta: Meta) -> None:
    print(response.get("status"), response["bodyTruncated"])


def bare_request() -> Descriptor:
    return {"url": "https://api.test/ping", "method": "GET"}


def photo_request(photo: Photo) -> Descriptor:
    ranges = chunk_plan(100)
    parts = [{"url": "https://api.test/1", "range": one} for one in ranges]
    return (
        {"file": photo.path, "parts": [{"url": "https://api.test", "range": one} for one in ranges]}
        if parts
        else {}
    )


def attach_request(vars: NoteVars, bound: Bound) -> Descriptor:
    return {
        "url": f"https://api.test/{bound.note}",
        "data": {"photo": bound["photo"]},
        "boundOrigin": False,
    }


def ended(outcome: GroupOutcome) -> None:
    print(outcome["group"].upper(), outcome["counts"]["error"] + 1, outcome["failed"][0].upper())


async def ended_later(outcome: GroupOutcome) -> None:
    print(outcome["generation"] + 1)


def moved(status: GroupStatus) -> None:
    print(round(100 * status["progress"]))


def show(row: Row) -> None:
    print(row["id"], row["bytesSent"] + row["totalBytes"], row.get("nextAttemptAt"))


def synchronous() -> None:
    with UploadClient(Path("/tmp/q"), background=60, sidecar=create_fake_sidecar()) as client:
        note = client.define(
            key="note", request=note_request, response=parse, on_success=loaded, on_error=failed
        )
        client.define(key="with", request=note_request, response=parse_with, on_success=loaded_later)
        client.define(key="plain", request=note_request, on_success=plain)
        bare = client.define(key="bare", request=bare_request)
        photo = client.define(key="photo", request=photo_request, load_vars=lambda raw: Photo(raw["path"]))
        client.configure(headers=lambda: {"Authorization": "t"}, lifetime_ms=None, retry={"transient": []})
        first: str = note.mutate({"site": "s", "text": None}, id="a")
        bare.mutate()
        bare.mutate(None, id=first)
        photo.mutate(Photo("/tmp/x"))
        for row in client.get_requests(key="note"):
            show(row)
        client.add_listener("state", show).remove()
        client.add_listener("group", moved)
        client.on_group_settled(ended)
        attach = client.define(key="attach", request=attach_request, response=parse, on_success=loaded)
        client.define(key="raw", request=attach_request, on_success=plain)
        pipeline = client.pipeline(group="g", group_deadline_ms=5, on_failure="settle")
        first_step = pipeline.add(note, NoteVars(site="s", text=None), weight=0.5, lane="l")
        pipeline.add(bare, after=[first_step, "b"])
        pipeline.add(photo, Photo("/tmp/x"))
        bind = {"note": first_step.pointer("/id"), "photo": first_step.header("Location")}
        pipeline.add(attach, NoteVars(site="s", text=None), bind=bind)
        attach.mutate({"site": "s", "text": None}, bind={"note": {"entry": "b", "pointer": ""}}, group="g")
        print([one["disposition"].upper() for one in pipeline.enqueue().values()])
        client.pause(groups=["g"])
        print(
            client.explain_group("g")["entries"][0]["gates"], client.get_requests(group="g")[0].get("lane")
        )


async def asynchronous() -> None:
    async with AsyncUploadClient("/tmp/q") as client:
        note = client.define(key="note", request=note_request, response=parse, on_success=loaded)
        bare = client.define(key="bare", request=bare_request)
        await client.configure(on_warning=lambda message, detail: print(message))
        ids = await asyncio.gather(note.mutate({"site": "s", "text": "t"}), bare.mutate())
        client.on_group_settled(ended_later)
        pipeline = client.pipeline(lane="l")
        step = pipeline.add(note, NoteVars(site="s", text="t"))
        print((await pipeline.enqueue())[step]["row"]["state"])
        await client.cancel_group("g")
        print(ids[0].upper(), [row["state"] for row in await client.get_requests()])
