"""The observation server alone: every endpoint, repeats, tokens, what is gone."""
import concurrent.futures
import http.client
import json
import re
import subprocess
import sys
import urllib.parse

import pytest

import programs
from ledger import GONE, Ledger
from server import ObservationServer

BOUNDARY = "limit"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Client:
    def __init__(self, server):
        self.address = urllib.parse.urlsplit(server.url).netloc

    def ask(self, method, path, body=b"", **headers):
        """Status and JSON of the answer; None when the connection ended without one."""
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value
                                                    for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except http.client.RemoteDisconnected:
            return None
        finally:
            connection.close()

    def json(self, method, path, fields, **headers):
        return self.ask(method, path, json.dumps(fields).encode(), Content_Type="application/json", **headers)

    def form(self, path, content, uuid="u", boundary=BOUNDARY, **headers):
        body = (f'--{boundary}\r\nContent-Disposition: form-data; name="uuid"\r\n\r\n{uuid}\r\n'
                f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n'
                'Content-Type: image/jpeg\r\n\r\n').encode() + content + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return self.ask("POST", path, body, Content_Type=kind, **headers)

    def state(self):
        return self.ask("GET", "/state")[1]


@pytest.fixture
def serve():
    """Starts servers, with the Ledger's options; gives a client of each."""
    servers = []

    def begin(**options):
        servers.append(ObservationServer(Ledger(**options)))
        return Client(servers[-1])

    yield begin
    for server in servers:
        server.close()
        server.ledger.close()


@pytest.fixture
def client(serve):
    return serve()


def test_media_observation_and_what_belongs_to_it(client):
    content = bytes(range(256)) * 5 + b"\r\n--limi\r\n\n\r"
    assert client.form("/photos", content) == (201, {"id": 1, "uuid": "u"})
    assert client.form("/sounds", b"") == (201, {"id": 2, "uuid": "u"})
    assert client.json("POST", "/observations", {"uuid": "o", "note": "é"}) == (201, {"id": 1, "uuid": "o"})
    assert client.json("POST", "/observations/1/photos", {"photo_id": 1, "uuid": "a"})[0] == 201
    assert client.json("POST", "/observations/1/sounds", {"sound_id": 2, "uuid": "b"})[0] == 201
    state = client.state()
    assert [(row["kind"], row["bytes"], row["name"]) for row in state["media"]] == [
        ("photo", len(content), "a.jpg"), ("sound", 0, "a.jpg")]
    assert [(row["observation"], row["kind"], row["medium"]) for row in state["attachments"]] == [
        (1, "photo", 1), (1, "sound", 2)]
    assert [row["request"] for table in ("media", "observations", "attachments")
            for row in state[table]] == [1, 2, 3, 4, 5]
    assert [row["status"] for row in state["requests"]] == [201] * 5


def test_what_comes_twice_is_there_twice(client):
    for _ in range(2):
        client.form("/photos", b"x")
        client.json("POST", "/observations", {"uuid": "o", "note": ""})
        client.json("POST", "/observations/1/photos", {"photo_id": 1, "uuid": "a"})
    state = client.state()
    assert [len(state[table]) for table in ("media", "observations", "attachments")] == [2, 2, 2]


def test_an_update_takes_off_what_it_does_not_ignore(client):
    client.form("/photos", b"x")
    client.json("POST", "/observations", {"uuid": "o", "note": "before"})
    client.json("POST", "/observations/1/photos", {"photo_id": 1, "uuid": "a"})
    assert client.json("PUT", "/observations/1?ignore_photos=true", {"note": "after"}) == (
        200, {"id": 1, "uuid": "o"})
    state = client.state()
    assert (state["observations"][0]["note"], len(state["attachments"])) == ("after", 1)
    assert client.json("PUT", "/observations/1", {"note": "after"})[0] == 200
    state = client.state()
    assert (state["attachments"], [row["ignore_photos"] for row in state["updates"]]) == ([], [1, 0])


def test_what_was_deleted_is_410_and_says_so(client):
    client.form("/photos", b"x")
    client.json("POST", "/observations", {"uuid": "o", "note": ""})
    assert client.json("DELETE", "/observations/1", {})[0] == 200
    gone = (410, {"error": GONE})
    assert client.json("PUT", "/observations/1?ignore_photos=true", {"note": ""}) == gone
    assert client.json("POST", "/observations/1/photos", {"photo_id": 1, "uuid": "a"}) == gone
    assert client.json("DELETE", "/observations/1", {}) == gone
    assert client.json("PUT", "/observations/2", {"note": ""})[0] == 404


@pytest.mark.parametrize("method, path, fields, status, named", [
    ("POST", "/observations", {"note": ""}, 400, "uuid"),
    ("POST", "/observations", {"uuid": "o"}, 400, "note"),
    ("POST", "/observations", {"uuid": 1, "note": ""}, 400, "uuid"),
    ("POST", "/observations", [], 400, "object"),
    ("POST", "/observations/1/photos", {"uuid": "a"}, 400, "photo_id"),
    ("POST", "/observations/1/photos", {"uuid": "a", "photo_id": "1"}, 400, "photo_id"),
    ("POST", "/observations/1/photos", {"uuid": "a", "photo_id": 9}, 422, "photo"),
    ("POST", "/observations/9/photos", {"uuid": "a", "photo_id": 1}, 404, "observation"),
    ("POST", "/photos", {"uuid": "a"}, 400, "file"), ("POST", "/token", {"life": 1}, 400, "seconds"),
    ("GET", "/photos", {}, 404, "nothing"), ("PATCH", "/photos", {}, 501, None)])
def test_what_is_wrong_is_refused_and_changes_nothing(client, method, path, fields, status, named):
    client.json("POST", "/observations", {"uuid": "o", "note": ""})
    if status == 501:
        connection = http.client.HTTPConnection(client.address)
        connection.request(method, path)
        assert connection.getresponse().status == 501
        return connection.close()
    answer = client.json(method, path, fields)
    assert answer[0] == status and named in answer[1]["error"]
    state = client.state()
    assert [len(state[table]) for table in ("observations", "media", "attachments")] == [1, 0, 0]
    return None


@pytest.mark.parametrize("kind, body", [
    ("multipart/form-data", b"--x--"), ("multipart/form-data; boundary=x", b"--x\r\n\r\n"),
    ("application/json", b"{")])
def test_a_body_that_cannot_be_read_is_refused(client, kind, body):
    assert client.ask("POST", "/photos", body, Content_Type=kind)[0] == 400


def test_a_file_that_is_none_is_refused(client):
    assert client.form("/photos", b"no photo at all") == (422, {"error": "this is no photo"})
    assert client.state()["media"] == []


def test_the_same_key_gives_the_same_answer_and_does_nothing(client):
    first = client.form("/photos", b"x", Idempotency_Key="k")
    assert client.form("/photos", b"x", boundary="another", Idempotency_Key="k") == first
    assert client.form("/photos", b"x", Idempotency_Key="other")[1]["id"] == 2
    state = client.state()
    assert ([row["id"] for row in state["media"]], [row["replayed"] for row in state["requests"]]) == (
        [1, 2], [0, 1, 0])


def test_a_key_that_comes_with_another_request_is_refused(client):
    client.form("/photos", b"x", Idempotency_Key="k")
    assert client.form("/photos", b"y", Idempotency_Key="k")[0] == 422
    assert client.form("/sounds", b"x", Idempotency_Key="k")[0] == 422
    assert len(client.state()["media"]) == 1


def test_a_refusal_is_not_kept_for_its_key(client):
    asked = {"photo_id": 1, "uuid": "a"}
    client.json("POST", "/observations", {"uuid": "o", "note": ""})
    assert client.json("POST", "/observations/1/photos", asked, Idempotency_Key="k")[0] == 422
    client.form("/photos", b"x")
    assert client.json("POST", "/observations/1/photos", asked, Idempotency_Key="k")[0] == 201


def test_the_same_key_many_times_at_once_is_one_row(client):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = [pool.submit(client.form, "/photos", b"x" * 50_000, Idempotency_Key=f"k{number % 4}")
                   for number in range(64)]
    ids = {answer.result()[1]["id"] for answer in answers}
    assert ids == {1, 2, 3, 4} and len(client.state()["media"]) == 4


def test_a_lost_answer_is_committed_and_the_same_for_the_same_seed(serve):
    def play(client):
        for number in range(20):
            while client.form("/photos", str(number).encode(), Idempotency_Key=str(number)) is None:
                pass
        state = client.state()
        assert len(state["media"]) == 20
        assert any(row["lost"] for row in state["requests"])
        assert all(row["replayed"] == earlier["lost"]
                   for earlier, row in zip(state["requests"], state["requests"][1:]))
        return [row["lost"] for row in state["requests"]]
    assert play(serve(lose_answers=0.3, seed=7)) == play(serve(lose_answers=0.3, seed=7))


def test_lost_answers_without_a_key_show_as_duplicates(serve):
    client = serve(lose_answers=1.0)
    assert [client.form("/photos", b"x") for _ in range(2)] == [None, None]
    assert len(client.state()["media"]) == 2


def test_a_token_ends_with_its_time(serve):
    clock = Clock()
    client = serve(needs_token=True, clock=clock)
    status, token = client.json("POST", "/token", {"seconds": 10})
    assert status == 201
    assert client.form("/photos", b"x")[0] == 401
    assert client.form("/photos", b"x", Authorization="Bearer unknown")[0] == 401
    assert client.form("/photos", b"x", Authorization=f"Bearer {token['token']}")[0] == 201
    assert client.form("/photos", b"x", Authorization=token["token"])[0] == 201
    clock.now += 10
    assert client.form("/photos", b"x", Authorization=f"Bearer {token['token']}")[0] == 401
    assert len(client.state()["media"]) == 2


def test_a_token_ends_after_its_uses_and_a_401_spoils_no_key(serve):
    client = serve()
    token = client.json("POST", "/token", {"uses": 2})[1]["token"]
    answers = [client.form("/photos", str(number).encode(), Authorization=f"Bearer {token}",
                           Idempotency_Key=str(number))[0] for number in range(3)]
    assert answers == [201, 201, 401]
    again = client.json("POST", "/token", {})[1]["token"]
    assert client.form("/photos", b"2", Authorization=f"Bearer {again}", Idempotency_Key="2")[0] == 201
    assert len(client.state()["media"]) == 3


def test_the_command_keeps_its_database(tmp_path):
    """Started twice on one file, as a program of its own."""
    command = [sys.executable, str(programs.ROOT / "clients/pipeline/server.py"), "--database",
               str(tmp_path / "ledger.db")]
    for count in (1, 2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
            client = Client(type("Server", (), {"url": url}))
            assert client.form("/photos", b"x")[1]["id"] == count
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
