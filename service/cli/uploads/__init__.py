"""Commands around uploaded measurements: keys, import, export, backup, migration."""
