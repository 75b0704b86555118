"""A real nginx that takes PUTs into a folder, on free ports of loopback."""
import os
import pathlib

from .programs import Program, free_port

CONFIGURATION = """
{user}worker_processes 1;
daemon off;
pid {root}/nginx.pid;
error_log {root}/error.log warn;
events {{ worker_connections 256; }}
http {{
  log_format seen '$status $request_method $uri $http_x_request_id $content_length $server_protocol';
  access_log {root}/access.log seen;
  client_body_temp_path {root}/temp;
  proxy_temp_path {root}/temp; fastcgi_temp_path {root}/temp;
  uwsgi_temp_path {root}/temp; scgi_temp_path {root}/temp;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    {tls}
    location / {{ root {root}/stored; dav_methods PUT DELETE; create_full_put_path on; }}
    location /small/ {{ client_max_body_size 100k; root {root}/stored; dav_methods PUT; }}
    {also}
  }}
}}
"""

TLS = """listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {certificate.path};
    ssl_certificate_key {certificate.key};"""


class Nginx(Program):
    """Stores PUTs, at most 100 KB under /small/; with a `certificate` also over TLS, by HTTP/2 as well.

    `also` is what else its configuration says of the server.
    """

    def __init__(self, root, certificate=None, also=""):
        self.root = pathlib.Path(root)
        for name in ("stored", "temp"):
            (self.root / name).mkdir(parents=True)
        port, self.tls_port = free_port(), free_port()
        # Started as root, its worker would become another user, who cannot write here.
        user = "user root;\n" if os.geteuid() == 0 else ""
        tls = TLS.format(port=self.tls_port, certificate=certificate) if certificate else ""
        configuration = self.root / "nginx.conf"
        text = CONFIGURATION.format(root=self.root, port=port, user=user, tls=tls, also=also)
        configuration.write_text(text, encoding="ascii")
        super().__init__(port, ["nginx", "-p", str(self.root), "-c", str(configuration)],
                         self.root / "output.log")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def tls_url(self, path):
        return f"https://127.0.0.1:{self.tls_port}{path}"

    def stored(self, path):
        return self.root / "stored" / path.lstrip("/")

    def log(self):
        """The lines of the access log, split: status, method, path, X-Request-Id, length, protocol."""
        return [line.split() for line in (self.root / "access.log").read_text(encoding="ascii").splitlines()]
