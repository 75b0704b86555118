"""The wheel that carries the binary: its tag, its bits, and an upload from a clean environment."""

import os
import re
import subprocess
import sys
import zipfile

import pytest
from rig import BINARY, ROOT, needs_binary
from web import Server

pytestmark = needs_binary

UPLOAD = """
import sys, threading, outtray
done = threading.Event()
with outtray.UploadClient(sys.argv[1]) as client:
    request = {"url": sys.argv[2], "method": "PUT", "file": sys.argv[3]}
    send = client.define(key="file", request=lambda vars: request,
                         on_success=lambda response, vars, meta: print(response["status"]) or done.set())
    client.configure()
    send.mutate({})
    assert done.wait(30)
print(outtray.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "package-python", folder], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_the_tag_is_true_to_the_glibc_that_the_binary_needs(wheel):
    listed = subprocess.run(["readelf", "--version-info", BINARY], capture_output=True, text=True).stdout
    needed = max(tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_(\d+\.\d+)", listed))
    assert f"-py3-none-manylinux_{needed[0]}_{needed[1]}_{os.uname().machine}.whl" in wheel.name
    with zipfile.ZipFile(wheel) as content:
        about = content.read(next(one for one in content.namelist() if one.endswith("/WHEEL"))).decode()
    assert "Root-Is-Purelib: false" in about and f"Tag: {wheel.name.split('-', 2)[2][:-4]}" in about


def test_the_executable_bit_and_the_file_kind_survive(wheel):
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        assert content.getinfo("outtray/bin/outtray").external_attr >> 16 == 0o100755
    assert "outtray/py.typed" in names and "outtray/testing.py" in names
    assert not [name for name in names if "test_" in name or name.startswith("tests")]


def test_a_clean_environment_uploads_a_file(wheel, tmp_path):
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    install = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "body").write_bytes(b"body" * 100_000)
    with Server() as server:
        command = [
            environment / "bin" / "python",
            "-c",
            UPLOAD,
            tmp_path / "queue",
            server.url,
            tmp_path / "body",
        ]
        plain = {
            name: value for name, value in os.environ.items() if not name.startswith(("OUTTRAY", "PYTHON"))
        }
        done = subprocess.run(command, capture_output=True, text=True, env=plain, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "200"
    assert done.stdout.splitlines()[1].startswith(str(environment))
    assert server.requests[0]["body"] == b"body" * 100_000
