"""`sizing catalog`: the facts that an operator lays over the shipped ones."""

from service.cli.lazy import LazyGroup

command = LazyGroup(
    "catalog",
    {
        "add": "service.cli.catalog.add:command",
        "check": "service.cli.catalog.check:command",
    },
    help="Check all facts, and add models of your own.",
)
