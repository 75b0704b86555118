"""The examples of README.md, run as they stand there."""
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from endtoend import rawserver
from endtoend.binary import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Where the examples send to; the test puts its own server there.
PLACE = "http://127.0.0.1:8080/notes"


def example(language):
    """The one fenced block of this language."""
    blocks = [body for name, body in FENCE.findall(README) if name == language]
    assert len(blocks) == 1, f"{len(blocks)} blocks of {language}"
    return blocks[0]


@pytest.mark.parametrize("language, suffix, runner", [
    ("js", ".mjs", ["node"]), ("python", ".py", [sys.executable])])
def test_the_hosts_of_the_readme_run_as_they_stand(binary, server, tmp_path, language, suffix, runner):
    """README: a host in 20 lines; it enqueues, hears the outcome, acknowledges it and ends."""
    text = example(language)
    assert PLACE in text and len(text.splitlines()) <= 20
    server.on("/notes", rawserver.reply(201, body=b'{"stored":true}'))
    host = tmp_path / f"host{suffix}"
    host.write_text(text.replace(PLACE, server.url("/notes")), encoding="utf-8")
    for _ in range(2):
        ended = subprocess.run([*runner, str(host)], cwd=tmp_path, env={**os.environ, "OUTTRAY": binary},
                               capture_output=True, timeout=30, check=False)
        assert ended.returncode == 0, ended.stderr
        assert b"completed 201" in ended.stdout
    assert [json.loads(request.body) for request in server.seen()] == [{"text": "hello"}] * 2


def test_the_pipeline_of_the_readme_runs_as_it_stands(start, server, tmp_path):
    """README: requests that depend on each other (D45, D46, D48, D50)."""
    photo = tmp_path / "fox.jpg"
    photo.write_bytes(b"a fox")
    text = example("json")
    for there, here in (("https://api.example.com", server.url("")), ("/pictures/fox.jpg", str(photo))):
        assert there in text
        text = text.replace(there, here)
    server.on("/photos", rawserver.reply(201, body=b'{"id":5}'))
    server.on("/observations", rawserver.reply(201, body=b'{"id":70}'))
    server.on("/observations/70/photos", rawserver.reply(201))
    sidecar = start()
    sidecar.subscribe("groupSettled")
    sidecar.call("enqueueAll", **json.loads(text))
    [outcome] = sidecar.wait_events("groupSettled", 1)
    assert outcome["group"] == "observation/7" and outcome["counts"]["completed"] == 3
    assert [(request.path, request.body) for request in server.seen()] == [
        ("/photos", b"a fox"), ("/observations", b'{"note": "at dusk"}'),
        ("/observations/70/photos", b'{"photo_id": 5}')]


def test_the_session_of_the_readme_runs_as_it_stands(binary, start, tmp_path):
    """README: look into a queue; every command gives what stands there."""
    session = re.search(r"^```sh-session\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[1]
    assert start(on=tmp_path / "queue").close() == 0
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "outtray").symlink_to(binary)
    commands = re.findall(r"^\$ (.*)$", session, re.MULTILINE)
    # The shell shows each command as the README does, and then what comes of it.
    script = "\n".join(f"printf '$ %s\\n' {shlex.quote(line)}\n{line}" for line in commands)
    ran = subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=30,
                         check=True, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    pages = re.compile(r"pages, \d+")
    assert pages.sub("pages", ran.stdout) == pages.sub("pages", session)


def headings(document):
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")
             for line in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)]
    before = [names[:at].count(name) for at, name in enumerate(names)]
    return {f"{name}-{times}" if times else name for name, times in zip(names, before)}


def lead_nowhere(document):
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"', text)
    links = [link for pair in found for link in pair if link and not re.match(r"[a-z]+:", link)]
    for link in links:
        path, _, anchor = link.partition("#")
        place = document.parent / path if path else document
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in headings(place)):
            yield f"{document.relative_to(ROOT)}: {link}"


def test_every_link_leads_to_a_file_and_a_heading_that_are_there():
    """README, and every other document of the repository."""
    made = re.compile(r"(^|/)([.]|dist/|node_modules/)")
    documents = [path for path in ROOT.rglob("*.md") if not made.search(str(path.relative_to(ROOT)))]
    assert ROOT / "README.md" in documents and len(headings(ROOT / "README.md")) > 5
    assert [link for document in documents for link in lead_nowhere(document)] == []


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    """README: make demo, make test."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    assert {"demo", "test"} <= commands
    assert [name for name in commands if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
