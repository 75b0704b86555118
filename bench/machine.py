"""On what the figures were measured, and with what."""
import importlib.metadata
import os
import pathlib
import platform
import sqlite3
import subprocess


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "not there"
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def field(path, name):
    for text in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = text.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def named(binary, folder):
    """What each figure depends on, as text by name."""
    device = subprocess.run(
        ["df", "--output=fstype,source", str(folder)], capture_output=True, text=True, check=True).stdout
    return {
        "cpu": f"{os.cpu_count()} × {field('/proc/cpuinfo', 'model name')}",
        "memory": f"{int(field('/proc/meminfo', 'MemTotal').split()[0]) / 1e6:.0f} GB",
        "disk": " on ".join(device.splitlines()[-1].split()),
        "load": f"{os.getloadavg()[0]:.1f} at the start",
        "system": f"{platform.freedesktop_os_release().get('PRETTY_NAME')}, Linux {platform.release()}",
        "outtray": first_line(binary, "--version").removeprefix("outtray "),
        "curl": first_line("curl", "--version").split(" (")[0].removeprefix("curl "),
        "sqlite": sqlite3.sqlite_version,
        "python": platform.python_version(),
        "node": first_line("node", "--version"),
        "go": first_line("go", "version").removeprefix("go version "),
        **{name: importlib.metadata.version(name) for name in ("persist-queue", "aiohttp", "requests")},
    }
