"""Keys and certificates for servers on loopback, made with the openssl program."""
import subprocess

AUTHORITY = """
[ca]
default_ca = own
[own]
database = {root}/{name}.index
rand_serial = yes
new_certs_dir = {root}
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
subjectAltName = {names}
basicConstraints = CA:TRUE
"""


class Certificate:
    """The paths of a self-signed certificate and its key; a client that is to trust it names it as caFile."""

    def __init__(self, root, name="good", names="IP:127.0.0.1,DNS:localhost", until="20990101000000Z"):
        root.mkdir(parents=True, exist_ok=True)
        self.path, self.key = str(root / f"{name}.pem"), str(root / f"{name}.key")
        request, settings = str(root / f"{name}.csr"), root / f"{name}.cnf"
        settings.write_text(AUTHORITY.format(root=root, name=name, names=names), encoding="ascii")
        (root / f"{name}.index").touch()
        # Not `req -x509`: that makes no certificate that has expired.
        self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                  "-keyout", self.key, "-out", request, "-subj", f"/CN={name}")
        self._run("ca", "-batch", "-selfsign", "-config", str(settings), "-in", request, "-out", self.path,
                  "-keyfile", self.key, "-notext", "-startdate", "20200101000000Z", "-enddate", until)

    @staticmethod
    def _run(*arguments):
        made = subprocess.run(["openssl", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        assert made.returncode == 0, made.stderr
