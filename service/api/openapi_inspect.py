"""`/v1/models/inspect` in the OpenAPI document: bodies, answer, example."""

from service.api.accept import JSON
from service.api.inspect import GGUF, GGUF_FACTOR
from service.api.openapi_catalog_schemas import model_properties
from service.api.openapi_parameters import described_parameter, language_query
from service.api.openapi_schemas import (
    TEXT,
    TRUTH,
    WHOLE,
    Json,
    array,
    described,
    mapping,
    maybe,
    record,
    ref,
)
from service.api.schemas import INSPECTED

_EXAMPLE: Json = {
    "config": {
        "architectures": ["ExampleForCausalLM"],
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "intermediate_size": 8192,
        "vocab_size": 64000,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": False,
    },
    "index": {"metadata": {"total_size": 3_600_000_000}},
}
_FILE: Json = {
    "architecture": described(TEXT, "general.architecture of the file."),
    "quantization": maybe(TEXT, "Weight format that general.file_type names."),
    "tensor_count": WHOLE,
    "complete": described(TRUTH, "Whether the bytes reached the end of the list of tensors."),
    "parts": described(WHOLE, "Files that the model is split into."),
    "tensor_bytes": maybe(WHOLE, "Bytes of all tensors; null when the list was cut off."),
    "bytes_by_type": mapping(WHOLE, "Bytes by storage type."),
}


def inspect_operation(responses: Json) -> Json:
    """The POST with its two kinds of body. responses: the answer and the problems."""
    return {
        "post": {
            "operationId": "inspect_model",
            "summary": "The facts of a model that the catalog does not have; nothing is stored.",
            "description": (
                "An architecture without rules is read by the usual names of its fields; warnings say what "
                "was not understood, and in which direction that errs."
            ),
            "parameters": language_query(),
            "requestBody": {
                "required": True,
                "description": (
                    "A config.json with its model.safetensors.index.json, see the schema InspectBody; or the "
                    "first bytes of a GGUF file, up to the end of its list of tensors (at most "
                    f"{GGUF_FACTOR} times the limit of other bodies)."
                ),
                "content": {
                    JSON: {"schema": ref("InspectBody"), "example": _EXAMPLE},
                    GGUF: {"schema": {"type": "string", "contentMediaType": GGUF}},
                },
            },
            "responses": responses,
        }
    }


def inspect_schemas() -> dict[str, Json]:
    """The body and the answer."""
    fields = {name: described_parameter(name, parameter) for name, parameter in INSPECTED.items()}
    return {
        "InspectBody": {
            "type": "object",
            "description": "Published files of a model.",
            "properties": fields,
            "required": ["config"],
            "additionalProperties": False,
        },
        "InspectedModel": record(
            "What follows from the files of a model, with the fields of a catalog model.",
            {
                **model_properties(),
                "warnings": array(ref("Note")),
                "gguf": record("What a GGUF file says of itself.", _FILE),
            },
            ("gguf",),
        ),
    }
