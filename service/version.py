"""The version of the code, part of every cache key; the same as in pyproject.toml."""

VERSION = "0.1.0"
