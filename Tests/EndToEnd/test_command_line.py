"""The command line: help, usage errors, terminals, the completion of shells."""
import os
import shutil
import sqlite3
import subprocess

import pytest

NOWHERE = "http://127.0.0.1:1/"
EVERY = [
    ("ls", []), ("show", ["a"]), ("explain", ["a"]), ("log", []), ("log", ["-f"]), ("verify", []),
    ("stats", []), ("add", [NOWHERE]), ("pause", []), ("resume", []), ("cancel", ["a"]), ("retry", ["a"]),
    ("headers set", ["A=env:HOME"]), ("watch", [])]


@pytest.mark.parametrize("name, arguments", EVERY)
def test_a_directory_that_cannot_be_used_is_said(command, tmp_path, name, arguments):
    """Section 5: 73 without a queue, for another's database and for a newer one; nothing is made."""
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = command(name, *arguments, on=empty, status=73)
    assert "holds no queue; outtray serve makes one" in refused.reason
    assert list(empty.iterdir()) == []
    missing = command(name, *arguments, on=tmp_path / "nowhere", status=73)
    assert "No such file or directory" in missing.reason and not (tmp_path / "nowhere").exists()
    for number, (pragma, text) in enumerate([
            ("user_version = 1", "belongs to another program"),
            ("user_version = 999; PRAGMA application_id = 1333097586", "schema 999, written by a newer")]):
        other = tmp_path / f"other{number}"
        other.mkdir()
        database = sqlite3.connect(other / "queue.db")
        database.executescript(f"CREATE TABLE x (y); PRAGMA {pragma}")
        database.close()
        refused = command(name, *arguments, on=other, status=73)
        assert text in refused.reason
        assert [path.name for path in other.iterdir()] == ["queue.db"]
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "queue.db").symlink_to("queue.db")
    assert "cannot be used: Too many levels" in command(name, *arguments, on=hidden, status=73).reason


@pytest.mark.parametrize("lock, name, arguments", [
    ("IMMEDIATE", "pause", []), ("IMMEDIATE", "add", [NOWHERE]), ("EXCLUSIVE", "ls", [])])
def test_a_database_that_somebody_else_holds_is_tried_again_later(command, start, directory, lock, name,
                                                                  arguments):
    """Section 5: 75 while another program, such as the shell of SQLite, has locked the database."""
    assert start().close() == 0
    database = sqlite3.connect(directory / "queue.db", isolation_level=None)
    database.execute(f"PRAGMA locking_mode = {'EXCLUSIVE' if lock == 'EXCLUSIVE' else 'NORMAL'}")
    database.execute(f"BEGIN {lock}")
    assert "database is locked" in command(name, *arguments, status=75).reason
    database.close()
    command(name, *arguments)


@pytest.mark.parametrize("name, arguments", EVERY)
def test_the_directory_comes_from_the_environment(binary, tmp_path, name, arguments):
    """OUTTRAY_DIR stands in for --dir; without either the usage error says so."""
    words = [binary, *name.split(), *arguments]
    env = {key: value for key, value in os.environ.items() if key != "OUTTRAY_DIR"}
    for extra, status, text in (({}, 64, "say which queue: --dir DIR, or OUTTRAY_DIR in the environment"),
                                ({"OUTTRAY_DIR": str(tmp_path)}, 73, "holds no queue")):
        ended = subprocess.run(words, env={**env, **extra}, input="", capture_output=True, text=True,
                               timeout=30, check=False)
        assert ended.returncode == status and text in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("name, arguments", [
    *EVERY, ("serve", []), ("check", []), ("completion", [])])
def test_help_teaches(binary, name, arguments):
    """--help: what it does, an example, exit statuses; on stdout, whatever else is typed."""
    ended = subprocess.run([binary, *name.split(), "--help"], capture_output=True, text=True, timeout=30,
                           check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"usage: outtray {name} ") and "\nexample:\n" in ended.stdout
    assert "exit status: 0; " in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 90


@pytest.mark.parametrize("words, text", [
    (["ls", "--state", "odd"], "--state: must be queued, running"), (["show"], "needs ID"),
    (["cancel"], "needs an ID or --group"),
    (["explain"], "needs an ID or --group"),
    (["ls", "--limit", "0"], "--limit: must be"), (["show", "a", "b"], "b: was not expected"),
    (["headers"], "headers: say headers set"), (["explain", "--what"], "--what: is no option of explain"),
    (["completion", "csh"], "csh: must be bash, zsh"),
    (["ls\x1b[31m"], "there is no command ls\\u{1b}[31m")])
def test_wrong_usage_is_said(binary, words, text):
    """Section 5: status 64, the reason is the last line of stderr."""
    ended = subprocess.run([binary, *words], capture_output=True, text=True, timeout=30, check=False,
                           env={**os.environ, "OUTTRAY_DIR": "/nonexistent"})
    assert (ended.returncode, ended.stdout) == (64, "")
    assert ended.stderr.splitlines()[-1].startswith(f"outtray: {text}")


COMPLETIONS = [
    (["e"], {"explain"}), (["ls", "--st"], {"--state"}), (["ls", "--state", "awa"], {"awaiting-auth"}),
    (["add", "http://x", "--priority", ""], {"high", "normal"}), (["headers", ""], {"set"}),
    (["cancel", "--g"], {"--group"}), (["headers", "set", "--or"], {"--origin"}),
    (["completion", "z"], {"zsh"}),
    (["log", "-"], {"-f", "--follow", "--dir", "--json", "--help"}),
]


@pytest.mark.parametrize("words, expected", COMPLETIONS)
def test_bash_completes(binary, words, expected):
    """completion bash: sourced by bash, it completes commands, options and values."""
    line = " ".join(f"'{word}'" for word in ["outtray", *words])
    script = (f"source <('{binary}' completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
              "_outtray; printf '%s\\n' \"${COMPREPLY[@]}\"")
    ended = subprocess.run(["bash", "-u", "-c", script], capture_output=True, text=True, timeout=30,
                           check=False)
    assert ended.stderr == ""
    assert set(ended.stdout.split()) == expected


def test_bash_completes_directories(binary, tmp_path):
    """completion bash: --dir takes a directory."""
    (tmp_path / "queue-a").mkdir()
    (tmp_path / "queue-file").touch()
    script = (f"source <('{binary}' completion bash); COMP_WORDS=(outtray ls --dir queue-); COMP_CWORD=3; "
              "_outtray; printf '%s\\n' \"${COMPREPLY[@]}\"")
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False,
                           cwd=tmp_path)
    assert ended.stdout.split() == ["queue-a"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_read_their_script(binary, tmp_path, shell):
    """completion zsh, fish: names every command; read by the shell where it is there."""
    script = subprocess.run([binary, "completion", shell], capture_output=True, text=True, timeout=30,
                            check=True).stdout
    for name, _ in EVERY:
        assert name.split()[0] in script
    place = tmp_path / "script"
    place.write_text(script, encoding="utf-8")
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", str(place)], timeout=30, check=False).returncode == 0
