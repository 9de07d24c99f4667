"""Settings that hold a password: from their variable, or from the file that `<NAME>_FILE` names."""

import os
from collections.abc import Callable
from pathlib import Path

from environs import Env, ValidationError

_MOST_BYTES = 65_536  # a whole certificate would fit; a file that is no secret is not read in
Check = Callable[[str], None]


def secret(env: Env, name: str, check: Check) -> str | None:
    """The value of a secret; None when neither variable is set, or both are empty.

    The file's end of line is not part of the value. Both set, a file that cannot be read, or a value that
    does not satisfy `check` are faults, which `env` collects; none repeats the value.
    """
    value = env.str(name, None, validate=check) or None
    file_name = f"{name}_FILE"

    def usable(path: str) -> None:
        if not path:
            return
        if os.environ.get(name):
            raise ValidationError(f"Set either this or {name}, not both.")
        content = _content(path)
        if not content:
            raise ValidationError(f"The file is empty: {path}.")
        check(content)

    path = env.str(file_name, None, validate=usable)
    return _content(path) if path else value


def _content(path: str) -> str:
    """Text of the file without the end of its last line. Raises ValidationError."""
    try:
        with Path(path).open("rb") as source:
            content = source.read(_MOST_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise ValidationError(f"The file cannot be read: {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValidationError(f"The file is not text: {path}.") from None
    if len(content) > _MOST_BYTES:
        raise ValidationError(f"The file is larger than {_MOST_BYTES} bytes: {path}.")
    return text.rstrip("\r\n")
