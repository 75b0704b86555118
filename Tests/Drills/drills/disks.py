"""File systems in a file, made and mounted for a drill: they can lose their power, and turn read-only."""
import contextlib
import ctypes
import fcntl
import functools
import os
import pathlib
import shutil
import struct
import subprocess

from endtoend import deadline

from .command import Skipped

# XFS_IOC_GOINGDOWN, which ext4 and f2fs know too; without a flush of the log, as a power cut has none.
SHUTDOWN = 0x8004587D
WITHOUT_LOG_FLUSH = 2
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# The smallest that mkfs.xfs makes.
SIZE = 320 << 20
# Of unshare(2): mounts of its own.
CLONE_NEWNS = 0x20000


def need_root():
    if os.geteuid() != 0:
        raise Skipped("mounting a file system takes root")


@functools.cache
def keep_mounts_private():
    """From now on what this thread and its children mount is seen by nobody else, and goes, with its loop
    device, when they have ended: also when they are killed."""
    need_root()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise Skipped(f"mounts cannot be private here: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class Disk:
    """A file system of this kind, mounted at `place`; raises Skipped where none can be had."""

    def __init__(self, kind, folder):
        keep_mounts_private()
        maker = shutil.which(f"mkfs.{kind}", path=PATH)
        if not maker:
            raise Skipped(f"there is no mkfs.{kind}")
        self.kind = kind
        self.image, self.place = folder / f"{kind}.image", folder / kind
        self.place.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(SIZE)
        subprocess.run([maker, "-q", self.image], check=True, stdout=subprocess.DEVNULL)
        self.is_mounted = False
        made = self._mount()
        if made.returncode:
            raise Skipped(f"{kind} cannot be mounted here: {made.stderr.decode().strip()}")

    def _mount(self):
        options = "loop,errors=remount-ro" if self.kind == "ext4" else "loop"
        made = subprocess.run(["mount", "-o", options, self.image, self.place], capture_output=True)
        self.is_mounted = made.returncode == 0
        return made

    def mount(self):
        made = self._mount()
        assert self.is_mounted, made.stderr.decode()

    def unmount(self):
        """Once whoever worked on it has ended."""
        deadline.until(f"{self.place} is let go", lambda: subprocess.run(
            ["umount", self.place], capture_output=True).returncode == 0, 60)
        self.is_mounted = False
        # The device goes a little later. While it is there the next mount takes it again, with what it has
        # cached of an image that is being repaired.
        deadline.until(f"the loop device of {self.image} is let go", lambda: not self._devices(), 60)

    def _devices(self):
        """The loop devices on this image."""
        found = []
        for place in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
            with contextlib.suppress(OSError):  # It went meanwhile.
                if place.read_text().rstrip("\n") == str(self.image):
                    found.append(place)
        return found

    def cut_power(self):
        """From now on everything fails; what was not synced is gone after the next mount."""
        place = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(place, SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
        finally:
            os.close(place)

    @property
    def _error_trigger(self):
        """Where an ext4 file system can be told that it has met an error, which turns it read-only."""
        device = os.stat(self.place).st_dev
        name = os.path.basename(os.readlink(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
        return pathlib.Path(f"/sys/fs/ext4/{name}/trigger_fs_error")

    @property
    def can_turn_read_only(self):
        return self.kind == "ext4" and self._error_trigger.exists()

    def turn_read_only(self):
        """As after an error of the disk; `repair` brings it back once it is unmounted."""
        self._error_trigger.write_text("drill")

    def repair(self):
        made = subprocess.run([shutil.which("e2fsck", path=PATH), "-fy", self.image], capture_output=True)
        # 1: it was repaired.
        assert made.returncode in (0, 1), made.stdout.decode()

    def close(self):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", self.place], check=False)
        self.image.unlink()
