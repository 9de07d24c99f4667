"""speed.yaml -> the constants of the speed model."""

from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, fields, validates_schema
from marshmallow.exceptions import ValidationError

from service.catalog.fields import Positive, Text, Whole, is_day
from service.catalog.freezing import frozen
from service.catalog.validation import validated
from service.catalog.yaml_files import read_yaml
from service.core.speed.constants import UNMEASURED, USER_REPORTED, SpeedConstants, speed_constants
from service.errors import CatalogError

SPEED_FILE = "speed.yaml"
_ERRORS = ("rows", "groups", "median", "p90", "covered")


class _Strict(Schema):
    class Meta:
        unknown = RAISE


def _rates(**options: Any) -> fields.Dict:
    return fields.Dict(keys=Text(), values=Positive(), **options)


class RuntimeSchema(_Strict):
    """llama.cpp on one backend, or MLX."""

    layer_us = Positive(required=True)
    expert_layer_factor = Positive(required=True)
    efficiency = _rates(required=True)
    cache_efficiency = Positive(required=True)
    grains = _rates(required=True)
    mfu = _rates(required=True)
    expert_mfu = Positive(required=True)
    attention_mfu = Positive(required=True)
    prefill_grains = _rates(required=True)

    @validates_schema
    def _has_other(self, data: dict[str, Any], **_: Any) -> None:
        for name in ("efficiency", "mfu"):
            if "other" not in data[name]:
                raise ValidationError("must have a value for other generations", name)


class ServingSchema(_Strict):
    """vLLM, SGLang and TensorRT-LLM."""

    efficiency = Positive(required=True)
    cache_efficiency = Positive(required=True)
    layer_us = Positive(required=True)
    expert_layer_factor = Positive(required=True)
    exchange_us = Positive(required=True)
    interference_mfu = Positive(required=True)
    factors = _rates(required=True)
    first_token_layer_ms = _rates(required=True)
    prompt_mfu = Positive(required=True)
    expert_prompt_mfu = Positive(required=True)
    attention_mfu = Positive(required=True)


class IntervalSchema(_Strict):
    """P10 and P90 of a class."""

    low = Positive(required=True)
    high = Positive(required=True)
    rows = Whole(least=1, required=True)

    @validates_schema
    def _holds_the_estimate(self, data: dict[str, Any], **_: Any) -> None:
        if not data["low"] <= 1 <= data["high"]:
            raise ValidationError("low and high must lie on either side of 1", "low")


class SpeedSchema(_Strict):
    """config/speed.yaml."""

    as_of = Text(required=True, check=is_day)
    hop_us = Positive(required=True)
    host_expert_efficiency = Positive(required=True)
    host_dense_efficiency = Positive(required=True)
    runtimes = fields.Dict(keys=Text(), values=fields.Nested(RuntimeSchema), required=True)
    serving = fields.Nested(ServingSchema, required=True)
    intervals = fields.Dict(keys=Text(), values=fields.Nested(IntervalSchema), required=True)
    calibrated = fields.Dict(keys=Text(), values=fields.List(Text()), required=True)
    sources = fields.List(Text(), required=True)
    errors = fields.Dict(
        keys=Text(), values=fields.Dict(keys=Text(*_ERRORS), values=fields.Float()), required=True
    )

    @validates_schema
    def _is_complete(self, data: dict[str, Any], **_: Any) -> None:
        if UNMEASURED not in data["runtimes"]:
            raise ValidationError(f"must have {UNMEASURED}", "runtimes")
        if USER_REPORTED not in data["intervals"]:
            raise ValidationError(f"must have {USER_REPORTED}", "intervals")


def read_speed(files: Mapping[str, bytes]) -> SpeedConstants:
    """The validated constants.

    Raises CatalogError when the file is missing or wrong.
    """
    if SPEED_FILE not in files:
        raise CatalogError(SPEED_FILE, "file", "does not exist")
    return speed_constants(
        frozen(validated(SpeedSchema(), read_yaml(files[SPEED_FILE], SPEED_FILE), SPEED_FILE))
    )
