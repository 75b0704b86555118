"""Every client plays the scenario alike and is certified; a client that differs is noticed."""
import subprocess
import sys

import pytest
import run

CERTIFY = [sys.executable, str(run.ROOT / "protocol" / "certify.py")]


def test_the_clients_behave_as_one(capfd):
    assert run.main([]) == 0, capfd.readouterr().out


@pytest.mark.parametrize("client", ["javascript", "go"])  # Python's own tests certify Python.
def test_the_client_is_certified(client, tmp_path):
    command = [*CERTIFY, *run.command_of(client, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "21 passed, 0 failed"), done.stdout


def test_a_client_that_differs_is_noticed(monkeypatch, capfd):
    driver = run.ROOT / "clients" / "python" / "tests" / "faulty_driver.py"
    faulty = [sys.executable, str(driver), "ack failures"]
    honest = run.command_of
    monkeypatch.setattr(run, "command_of", lambda client, folder: (
        faulty if client == "asyncio" else honest(client, folder)))
    monkeypatch.setattr("player.SECONDS", 2)
    assert run.main(["python", "asyncio"]) == 1
    assert "DIFFERENT a handler that fails" in capfd.readouterr().out
