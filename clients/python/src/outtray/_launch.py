"""How the options of a client become the start of a sidecar."""

from __future__ import annotations

import os
from typing import Mapping, Optional, Union

from ._errors import InvalidError
from ._process import Launch


def launch_of(
    dir: "Union[str, os.PathLike[str], None]",
    binary: Optional[str],
    env: Optional[Mapping[str, str]],
    background: Union[bool, int],
    keep_awake: bool = False,
    virtual_clock: bool = False,
) -> Launch:
    if dir is None or not os.fspath(dir):
        raise InvalidError("dir must be the path of the queue's directory", "dir")
    if isinstance(background, bool):
        on_disconnect = "drain" if background else "exit"
    elif type(background) is int and background > 0:
        on_disconnect = f"stay:{background}"
    else:
        why = f"background must be True, False or a number of seconds above 0, got {background!r}"
        raise InvalidError(why, "background")
    # A later chdir of this program must not move the queue.
    place = os.path.abspath(os.fspath(dir))
    return Launch(place, binary, env, on_disconnect, keep_awake, virtual_clock)
