"""A network of a test's own: a namespace of the kernel's, empty but for loopback."""
import contextlib
import ctypes
import os
import shutil
import subprocess

CLONE_NEWNET = 0x40000000
IP = shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _run(*words, **options):
    subprocess.run([IP, *words], check=True, **options)


class NetworkNamespace:
    """Loopback is up, and there is no route to anywhere else; takes root."""

    def __init__(self, name):
        self.name = name
        _run("netns", "add", name)
        self.ip("link", "set", "lo", "up")
        # What runs a command inside, with a sysfs of its own.
        self.under = [IP, "netns", "exec", name]

    def close(self):
        _run("netns", "delete", self.name)

    def ip(self, *words):
        _run("-n", self.name, *words)

    def batch(self, lines):
        """Many changes in a short time."""
        _run("-n", self.name, "-batch", "-", input="\n".join(lines) + "\n", text=True)

    def add_device(self, name, number):
        """A device whose other end leads nowhere, up, in a network of its own: 10.`number`.0.0/16."""
        self.ip("link", "add", name, "type", "veth", "peer", "name", f"peer{number}")
        self.ip("link", "set", f"peer{number}", "up")
        self.ip("address", "add", f"10.{number}.0.1/16", "dev", name)
        self.ip("link", "set", name, "up")

    def add_route(self, name, number, metric):
        self.ip("route", "add", "default", "via", f"10.{number}.0.2", "dev", name, "metric", str(metric))

    @contextlib.contextmanager
    def inside(self):
        """The calling thread's new sockets belong to the namespace meanwhile."""
        library = ctypes.CDLL(None, use_errno=True)

        def enter(path):
            with open(path, "rb") as place:
                if library.setns(place.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns {path}")

        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            enter(f"/run/netns/{self.name}")
            yield
        finally:
            enter(f"/proc/self/fd/{here}")
            os.close(here)
