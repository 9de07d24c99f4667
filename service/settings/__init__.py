"""The service's settings: one frozen value, read from the environment here and nowhere else.

A new setting: a field in `values`, its variable in `reading`, its row in docs/operations.md.
"""

from service.settings.reading import InvalidSettings, read_settings
from service.settings.values import Settings

__all__ = ["InvalidSettings", "Settings", "read_settings"]
