"""A real nginx that takes PUTs into a folder, on a free port of loopback."""
import os
import pathlib
import shutil
import socket
import subprocess

from . import deadline

CONFIGURATION = """
{user}worker_processes 1;
daemon off;
pid {root}/nginx.pid;
error_log {root}/error.log warn;
events {{ worker_connections 256; }}
http {{
  log_format seen '$status $request_method $uri $http_x_request_id $content_length';
  access_log {root}/access.log seen;
  client_body_temp_path {root}/temp;
  proxy_temp_path {root}/temp; fastcgi_temp_path {root}/temp;
  uwsgi_temp_path {root}/temp; scgi_temp_path {root}/temp;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    location / {{ root {root}/stored; dav_methods PUT DELETE; create_full_put_path on; }}
  }}
}}
"""


class Nginx:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        for name in ("stored", "temp"):
            (self.root / name).mkdir(parents=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        # Started as root, its worker would become another user, who cannot write here.
        user = "user root;\n" if os.geteuid() == 0 else ""
        configuration = self.root / "nginx.conf"
        text = CONFIGURATION.format(root=self.root, port=self.port, user=user)
        configuration.write_text(text, encoding="ascii")
        binary = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin") or "nginx"
        command = [binary, "-p", str(self.root), "-c", str(configuration)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline.until("nginx listens", self._listens)

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def stored(self, path):
        return self.root / "stored" / path.lstrip("/")

    def log(self):
        """The lines of the access log, split: status, method, path, X-Request-Id, length."""
        return [line.split() for line in (self.root / "access.log").read_text(encoding="ascii").splitlines()]

    def close(self):
        self.process.terminate()
        self.process.wait(10)

    def _listens(self):
        assert self.process.poll() is None, "nginx ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
