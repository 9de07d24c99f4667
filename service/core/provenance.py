"""Who states a fact, which is another question than how well it is known."""

from enum import StrEnum


class ProvidedBy(StrEnum):
    """The catalog of this service, the operator of this instance, or the caller of one request."""

    CATALOG = "catalog"
    OPERATOR = "operator"
    CALLER = "caller"
