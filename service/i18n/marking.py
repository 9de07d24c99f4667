"""Marks that let the extraction find a message in a table of messages."""


def mark(msgid: str) -> str:
    """The same text, marked as a message that translators see."""
    return msgid


def mark_plural(singular: str, plural: str) -> tuple[str, str]:
    """The same pair, marked as a message whose grammar follows a count."""
    return singular, plural
