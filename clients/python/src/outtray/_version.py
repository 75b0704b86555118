"""The version of this package, read by pyproject.toml too."""

VERSION = "0.1.0"
