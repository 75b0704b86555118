"""Outtray's client: a durable queue of HTTP requests in a sidecar process."""

from ._asyncio import AsyncBareDefinition, AsyncDefinition, AsyncUploadClient
from ._chunkplan import chunk_plan
from ._client import BareDefinition, Definition, UploadClient
from ._errors import (
    CallError,
    ClosedError,
    ForkedError,
    InvalidError,
    OuttrayError,
    SidecarExited,
    StartError,
)
from ._outcome import Meta, OutcomeError
from ._protocol import (
    TLS,
    AcceptRule,
    Backoff,
    Concurrency,
    Descriptor,
    FormField,
    Part,
    Range,
    Retry,
    TerminalHttp,
    TimeoutLayer,
    Timeouts,
    TLSHost,
    TransientRule,
)
from ._shapes import Attempt, DiagnosticRecord, Gate, Progress, Response, Row, Settled, Stats
from ._uploads import Subscription
from ._version import VERSION as __version__

__all__ = [
    "TLS",
    "AcceptRule",
    "AsyncBareDefinition",
    "AsyncDefinition",
    "AsyncUploadClient",
    "Attempt",
    "Backoff",
    "BareDefinition",
    "CallError",
    "ClosedError",
    "Concurrency",
    "Definition",
    "Descriptor",
    "DiagnosticRecord",
    "ForkedError",
    "FormField",
    "Gate",
    "InvalidError",
    "Meta",
    "OutcomeError",
    "OuttrayError",
    "Part",
    "Progress",
    "Range",
    "Response",
    "Retry",
    "Row",
    "Settled",
    "SidecarExited",
    "StartError",
    "Stats",
    "Subscription",
    "TLSHost",
    "TerminalHttp",
    "TimeoutLayer",
    "Timeouts",
    "TransientRule",
    "UploadClient",
    "__version__",
    "chunk_plan",
]
