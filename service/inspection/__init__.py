"""Published files that a caller sends to be read: a safetensors index, the first bytes of a GGUF file."""

from service.inspection.gguf_header import GgufHeader, NotGguf, read_header
from service.inspection.gguf_model import Inspected, inspect_gguf
from service.inspection.safetensors_index import total_size

__all__ = ["GgufHeader", "Inspected", "NotGguf", "inspect_gguf", "read_header", "total_size"]
