"""Parameters -> bytes, tensor by tensor, for every format."""
