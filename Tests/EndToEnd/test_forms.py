"""multipart/form-data on the wire (RFC 7578)."""
import os
import re

import pytest

from endtoend.frames import RPCError
from endtoend.requests import enqueue


class Part:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        self.lines = head.split(b"\r\n")
        disposition = self.value(b"content-disposition")
        self.name = re.search(rb'; name="([^"]*)"', disposition)[1]
        found = re.search(rb'; filename="([^"]*)"', disposition)
        self.file_name = found[1] if found else None

    def value(self, name):
        """The value of the one header line of this name."""
        lines = [line for line in self.lines if line.lower().startswith(name + b":")]
        assert len(lines) == 1
        return lines[0].partition(b":")[2].strip()


def boundary_of(request):
    return re.fullmatch(r"multipart/form-data; ?boundary=(\S+)", request.header("content-type"))[1]


def parts_of(request):
    """Cuts the body by its boundary, by the letter of RFC 2046."""
    delimiter = b"--" + boundary_of(request).encode("ascii")
    assert request.body.startswith(delimiter + b"\r\n")
    assert request.body.rstrip(b"\r\n").endswith(b"\r\n" + delimiter + b"--")
    inner = request.body[len(delimiter) + 2:request.body.rindex(b"\r\n" + delimiter + b"--")]
    return [Part(piece) for piece in inner.split(b"\r\n" + delimiter + b"\r\n")]


@pytest.fixture
def send(sidecar, server):
    """Sends a form and returns the request that arrived."""
    def go(*fields, **more):
        count = len(server.seen())
        enqueue(sidecar, server.url("/form"), id=f"form {count}", form=list(fields), **more)
        assert sidecar.settled(f"form {count}")["kind"] == "completed"
        request = server.seen()[count]
        assert request.length == request.body_length and not request.chunked
        return request
    return go


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.txt"
    path.write_bytes(b"hi")
    return str(path)


def file_field(path, **more):
    return {"name": "file", "contentType": "text/plain", "path": path, **more}


def string_field(name, value):
    return {"name": name, "contentType": "text/plain", "string": value}


def test_a_form_01_a_quote_in_a_file_name_is_escaped(send, small):
    """A-FORM-01, B134."""
    request = send(file_field(small, fileName='a"b.txt'))
    parts = parts_of(request)
    assert len(parts) == 1
    assert (parts[0].file_name, parts[0].body) == (b"a%22b.txt", b"hi")


def test_a_form_02_a_line_end_in_a_file_name_adds_no_header(send, small):
    """A-FORM-02."""
    part = parts_of(send(file_field(small, fileName="x\r\nX-Injected: 1.txt")))[0]
    assert part.file_name == b"x%0D%0AX-Injected: 1.txt"
    assert len(part.lines) == 2


def test_a_form_03_a_line_end_in_a_content_type_is_refused(sidecar, server, small):
    """A-FORM-03: named by its path, nothing kept, nothing sent."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, server.url("/form"), form=[
            string_field("a", "b"), {**file_field(small), "contentType": "image/png\r\n\r\nx"}])
    assert (refused.value.code, refused.value.path) == ("E_INVALID", "request.form[1].contentType")
    assert sidecar.rows() == [] and server.seen() == []


def test_a_form_04_a_file_name_is_sent_as_utf_8(send, small):
    """A-FORM-04."""
    name = "Файл-文件-é-\U0001f600.pdf"
    assert parts_of(send(file_field(small, fileName=name)))[0].file_name == name.encode("utf-8")


def test_a_form_05_a_backslash_stays_one_byte(send, small):
    """A-FORM-05."""
    assert parts_of(send(file_field(small, fileName="a\\b.txt")))[0].file_name == b"a\\b.txt"


def test_a_form_06_field_names_are_sent_as_they_are(send):
    """A-FORM-06: only the double quote, CR and LF are ever changed."""
    names = ["upload[]", "a b", "ключ", 'q"\r\n']
    parts = parts_of(send(*[string_field(name, "v") for name in names]))
    assert [part.name for part in parts] == [
        b"upload[]", b"a b", "ключ".encode("utf-8"), b"q%22%0D%0A"]


def test_a_form_07_a_value_like_a_boundary_arrives_exactly(send):
    """A-FORM-07: the boundary is an unquoted token of at most 70 characters, another one for each request."""
    value = "\r\n".join(["-" * 26 + "x"] * 3)
    first, second = send(string_field("a", value)), send(string_field("a", value))
    for request in (first, second):
        parts = parts_of(request)
        assert [part.body for part in parts] == [value.encode()]
        assert re.fullmatch(r"[0-9A-Za-z'+_.-]{1,70}", boundary_of(request))
    assert boundary_of(first) != boundary_of(second)


def test_b134_the_default_file_name_is_that_of_the_path(send, small):
    """B134: and the content type is the field's."""
    part = parts_of(send({**file_field(small), "contentType": "application/x-y"}))[0]
    assert (part.file_name, part.value(b"content-type")) == (b"small.txt", b"application/x-y")


def test_b134_every_byte_of_a_form_is_the_standard_s(send, small):
    """B134, RFC 7578: no preamble, no epilogue, no header but two for each part."""
    last = {"name": "c", "contentType": "x/y", "string": ""}
    request = send(string_field("a b", "v\r\n"), file_field(small), last)
    line = f"--{boundary_of(request)}".encode()
    assert request.body == b"\r\n".join([
        line, b'Content-Disposition: form-data; name="a b"', b"Content-Type: text/plain", b"", b"v\r\n",
        line, b'Content-Disposition: form-data; name="file"; filename="small.txt"',
        b"Content-Type: text/plain", b"", b"hi",
        line, b'Content-Disposition: form-data; name="c"', b"Content-Type: x/y", b"", b"",
        line + b"--", b""])


def test_b135_the_form_sets_its_own_content_type(send):
    """B135: a caller's Content-Type would name another boundary."""
    headers = {"Content-Type": "multipart/form-data; boundary=mine"}
    assert len(parts_of(send(string_field("a", "b"), headers=headers))) == 1


@pytest.mark.parametrize("size", [0, 16383, 16384, 16385, 65536, 475020, 1_500_000])
def test_a_body_09_form_files_of_any_size_arrive_whole(send, tmp_path, size):
    """A-BODY-09: the length announced is the length sent (checked in `send`)."""
    content = os.urandom(size)
    path = tmp_path / "f"
    path.write_bytes(content)
    parts = parts_of(send(string_field("a", "b"), file_field(str(path)), string_field("c", "")))
    assert [part.body for part in parts] == [b"b", content, b""]


def test_a_prog_05_the_bytes_of_a_form_are_those_of_its_whole_body(sidecar, server, small):
    """A-PROG-05: bytesSent = totalBytes = Content-Length."""
    enqueue(sidecar, server.url("/form"), id="a", form=[file_field(small)])
    outcome = sidecar.settled("a")
    length = server.seen()[0].length
    assert (outcome["bytesSent"], outcome["totalBytes"]) == (length, length)
    assert sidecar.row("a")["totalBytes"] == length


@pytest.mark.parametrize("field, path", [
    ({"name": "a", "contentType": "t/p"}, "request.form[0]"),
    ({"name": "a", "contentType": "t/p", "string": "s", "path": "/p"}, "request.form[0]"),
    ({"contentType": "t/p", "string": "s"}, "request.form[0].name"),
    ({"name": "a", "string": "s"}, "request.form[0].contentType"),
    ({"name": "a", "contentType": "t/p", "string": 5}, "request.form[0].string"),
    ({"name": "a", "contentType": "t/p", "string": "s", "filename": "x"}, "request.form[0].filename"),
])
def test_b36_malformed_fields_are_refused_with_their_path(sidecar, field, path):
    """B36, B43."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", form=[field])
    assert (refused.value.code, refused.value.path) == ("E_INVALID", path)


def test_b136_a_missing_form_file_is_refused_before_anything_is_kept(sidecar, small, tmp_path):
    """B136."""
    with pytest.raises(RPCError) as refused:
        enqueue(sidecar, "http://127.0.0.1:9/", form=[file_field(small), file_field(str(tmp_path / "no"))])
    assert (refused.value.code, refused.value.path) == ("E_FILE_MISSING", "request.form[1].path")
    assert sidecar.rows() == []
