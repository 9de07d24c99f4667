"""`/v1/finetuning` in the OpenAPI document: the scenario's operation with the parameters of a training."""

from service.api.openapi_parameters import body_schemas, query, value_schema
from service.api.openapi_schemas import Json, ref
from service.api.training import FINETUNING

_EXAMPLE_METHOD = "lora"


def as_training(operation: Json) -> Json:
    """The GET and POST of a scenario that needs no accelerator, made those of a training."""
    get, post = operation["get"], operation["post"]
    parameters = [{**p, "required": p["name"] == "model"} for p in get["parameters"]]
    body = post["requestBody"]["content"]["application/json"]
    example = {"model": body["example"]["model"], "gpu": body["example"]["gpu"], "method": _EXAMPLE_METHOD}
    content = {"application/json": {"schema": ref("TrainingBody"), "example": example}}
    description = "The training, with the names of the query parameters; see the schema TrainingBody."
    return {
        "get": {**get, "parameters": [*parameters, *query(FINETUNING)]},
        "post": {
            **post,
            "requestBody": {"required": True, "description": description, "content": content},
        },
    }


def training_schemas() -> dict[str, Json]:
    """The training as a JSON body, where null means not given."""
    scenario = body_schemas()["ScenarioBody"]
    own = {}
    for name, parameter in FINETUNING.items():
        schema = {**value_schema(name, parameter), "description": parameter.metadata["description"]}
        kinds = [schema["type"], "array", "null"] if name == "targets" else [schema["type"], "null"]
        own[name] = {**schema, "type": kinds}
    return {
        "TrainingBody": {
            **scenario,
            "description": "One fine-tuning; the names are those of the query parameters.",
            "properties": {**scenario["properties"], **own},
        }
    }
