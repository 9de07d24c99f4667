"""The process's journal: each request is counted and logged."""

from service.api.counters import observe
from service.journal import Journal
from service.logs import REQUEST_LINES

JOURNAL = Journal(observe, REQUEST_LINES.write)
