"""config.json -> Architecture: one list of tensors and one list of caches for every model."""
