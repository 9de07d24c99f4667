"""What the page of the OpenAPI document shows of a response and of a schema."""

from service.api.openapi_schemas import Json


def resolved(document: Json, response: Json) -> Json:
    """A response with its reference followed."""
    name = response.get("$ref", "").rpartition("/")[2]
    found: Json = document["components"]["responses"].get(name, response)
    return found


def type_text(schema: Json) -> str:
    """A schema's type in words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(type_text(inner) for inner in schema["anyOf"])
    if "enum" in schema:
        return " | ".join("null" if value is None else str(value) for value in schema["enum"])
    kind = schema.get("type", "any")
    text = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array" and "items" in schema:
        return f"array of {type_text(schema['items'])}"
    return f"{text} {schema['minimum']}…{schema['maximum']}" if "minimum" in schema else text
