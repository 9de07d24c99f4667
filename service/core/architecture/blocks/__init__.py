"""Building blocks that families share: tensors and cache rules of one kind of layer."""
