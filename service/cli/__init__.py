"""The console script `sizing`: one module a command, imported when the command is used."""

from service.cli.lazy import LazyGroup

main = LazyGroup(
    "sizing",
    {
        "audit": "service.cli.uploads.auditing:command",
        "backup": "service.cli.uploads.backing_up:command",
        "catalog": "service.cli.catalog:command",
        "export-measurements": "service.cli.uploads.exporting:command",
        "import-measurements": "service.cli.uploads.importing:command",
        "keys": "service.cli.uploads.keys:command",
        "migrate": "service.cli.uploads.migrating:command",
        "openapi": "service.cli.openapi:command",
        "report": "service.cli.report:command",
        "serve": "service.cli.serve:command",
        "size": "service.cli.size:command",
        "version": "service.cli.version:command",
        "warm": "service.cli.warm:command",
    },
    help="How much GPU memory an open-weight model needs, and whether it fits: `sizing MODEL GPU`.",
    otherwise="report",
)
