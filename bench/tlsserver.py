"""TLS on loopback: a certificate for it, and a server for HTTP/2 that reads bodies to their end."""
import socket
import subprocess
import time


def certificate(workshop):
    """Paths of a certificate and its key, made for this run."""
    paths = workshop.folder / "certificate.pem", workshop.folder / "key.pem"
    if not paths[0].exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "3650", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", str(paths[1]), "-out", str(paths[0])], check=True, capture_output=True)
    return paths


def nghttpd(workshop, paths):
    """The port of an nghttpd that answers a request when its body is in, 404, and stores nothing."""
    # It cannot choose a port that is free by itself.
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    process = subprocess.Popen(
        ["nghttpd", "-a", "127.0.0.1", "-w", "24", "-W", "24", str(port), str(paths[1]), str(paths[0])],
        stdout=subprocess.DEVNULL)
    workshop.enter_context(process)
    workshop.callback(process.kill)
    while process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return port
        time.sleep(0.01)
    raise RuntimeError(f"nghttpd ended with {process.returncode}")
