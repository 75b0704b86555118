"""Servers of others, each started on a free port of loopback and ended by `close`."""
import os
import shutil
import socket
import subprocess

from . import deadline


def free_port():
    """A port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A server in a process of its own, which listens on `port` once it is made."""

    def __init__(self, port, command, log, env=None):
        self.port = port
        binary = shutil.which(command[0], path=os.environ.get("PATH", "") + ":/usr/sbin") or command[0]
        with open(log, "ab") as output:
            self.process = subprocess.Popen([binary, *command[1:]], stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output, env={**os.environ, **(env or {})})
        try:
            deadline.until(f"{command[0]} listens", self._listens)
        except AssertionError:
            self.close()
            raise

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _listens(self):
        assert self.process.poll() is None, f"{self.process.args[0]} ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


CADDYFILE = """
{{
  admin off
  auto_https off
  skip_install_trust
  storage file_system {root}/storage
}}
https://127.0.0.1:{port} {{
  bind 127.0.0.1
  tls {certificate.path} {certificate.key}
  header X-Proto {{http.request.proto}}
  handle /small/* {{
    request_body {{
      max_size 100KB
    }}
    reverse_proxy 127.0.0.1:{behind}
  }}
  reverse_proxy 127.0.0.1:{behind}
}}
"""


class Caddy(Program):
    """Caddy with HTTP/2 in front of the server on the port `behind`; takes 100 KB under /small/."""

    def __init__(self, root, certificate, behind):
        root.mkdir(parents=True)
        port = free_port()
        text = CADDYFILE.format(root=root, port=port, certificate=certificate, behind=behind)
        (root / "Caddyfile").write_text(text, encoding="ascii")
        command = ["caddy", "run", "--config", str(root / "Caddyfile"), "--adapter", "caddyfile"]
        home = {name: str(root) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        super().__init__(port, command, root / "log", env=home)

    def url(self, path):
        return f"https://127.0.0.1:{self.port}{path}"


class Nghttpd(Program):
    """nghttpd, which speaks HTTP/2 and nothing else, with windows of 16 KiB; answers with what it got."""

    def __init__(self, root, certificate):
        root.mkdir(parents=True)
        port = free_port()
        super().__init__(port, ["nghttpd", "--address=127.0.0.1", "--echo-upload", "--window-bits=14",
                                "--connection-window-bits=14", "-d", str(root), str(port), certificate.key,
                                certificate.path], root / "log")

    def url(self, path):
        return f"https://127.0.0.1:{self.port}{path}"
