"""The shape of each fact file; a field that is not named here is an error."""

from typing import Any

from marshmallow import RAISE, Schema, fields, validates_schema
from marshmallow.exceptions import ValidationError

from service.catalog.fields import Flag, Positive, Text, Whole, is_day, is_id, is_period


class _Strict(Schema):
    class Meta:
        unknown = RAISE


def _texts(**options: Any) -> fields.List[str]:
    return fields.List(Text(), **options)


class ParametersSchema(_Strict):
    """Parameter counts; `parts` splits the total where it was published or computed."""

    total = Whole(least=1, required=True)
    active = Whole(least=1, required=True)
    exact = Flag(required=True)
    parts = fields.Dict(keys=Text("text", "lookup_table", "mtp", "vision"), values=Whole(least=1))


class NativeWeightsSchema(_Strict):
    """Bytes that an engine loads from the published checkpoint, and bytes of its files where they differ."""

    format = Text(required=True)
    bytes = Whole(least=1, required=True, allow_none=True)
    file_bytes = Whole(least=1)
    evidence = Text("checkpoint", "config", "estimate", "unknown", required=True)
    note = Text()

    @validates_schema
    def _known_or_not(self, data: dict[str, Any], **_: Any) -> None:
        if (data["bytes"] is None) != (data["evidence"] == "unknown"):
            raise ValidationError("bytes are null exactly when their evidence is unknown", "bytes")


class SupportSchema(_Strict):
    """Whether an engine runs the model, from which version."""

    status = Text("yes", "no", "unknown", required=True)
    since = Text()
    note = Text()


class LlamaCppSchema(_Strict):
    """What llama.cpp itself allocated for the model."""

    compute_floats_per_token = Positive(required=True)
    exact = Flag(required=True)
    source = Text(required=True)


class ModelSchema(_Strict):
    """config/models/<id>.yaml."""

    id = Text(required=True, check=is_id)
    name = Text(required=True)
    family = Text(required=True)
    publisher = Text(required=True)
    hf_repo = Text(required=True, check=lambda repo: repo.count("/") == 1)
    released = Text(required=True, allow_none=True, check=is_period)
    license = Text(required=True, allow_none=True)
    aliases = _texts(required=True)
    parameters = fields.Nested(ParametersSchema, required=True)
    native_weights = fields.Nested(NativeWeightsSchema, required=True)
    gguf_bytes = fields.Dict(keys=Text(), values=Whole(least=1), required=True)
    gguf_repo = Text(check=lambda repo: repo.count("/") == 1)
    support = fields.Dict(keys=Text(), values=fields.Nested(SupportSchema), required=True)
    llama_cpp = fields.Nested(LlamaCppSchema)
    evidence = Text("verified", "derived", "name-only", required=True)
    sources = _texts(required=True)
    notes = Text()
    checked = Text(required=True, check=is_day)
    config = fields.Dict(keys=Text(), required=True)


class QuantizationSchema(_Strict):
    """A row of config/quantizations.yaml."""

    id = Text(required=True)
    label = Text(required=True)
    family = Text("native", "safetensors", "gguf", "mlx", required=True)
    nominal_bits_per_weight = Positive(required=True, allow_none=True)
    engines = _texts(required=True)
    note = Text()
    source = Text(required=True)


class EngineSchema(_Strict):
    """A row of config/engines.yaml."""

    id = Text(required=True)
    name = Text(required=True)
    vendor = Text(required=True)
    license = Text(required=True)
    home = Text(required=True, check=lambda url: url.startswith("https://"))
    version = Text(required=True, allow_none=True)
    formats = fields.List(Text("native", "safetensors", "gguf", "mlx"), required=True)
    kv_cache_dtypes = _texts(required=True)
    modelled = Flag(required=True)
    memory_rule = Text(required=True)
    source = Text(required=True)
    support_from = Text()
    backends_from = _texts()


class OfferSchema(_Strict):
    """A row of config/offers.yaml."""

    provider = Text(required=True)
    gpu = Text(required=True, allow_none=True)
    gpu_name = Text()
    count = Whole(least=1, required=True)
    instance = Text()
    usd_per_hour = Positive(required=True)
    commitment = Text("on-demand", "community", "secure", "spot", "reserved", "dedicated", required=True)
    billing = Text("per-second", "per-minute", "hourly", required=True)
    region = Text()
    as_of = Text(required=True, allow_none=True, check=is_day)
    as_of_estimate = Text()
    per_gpu_linear = Flag()
    confidence = Text("high", "medium", "low", required=True)
    source = Text(required=True)
    note = Text()

    @validates_schema
    def _named_and_dated(self, data: dict[str, Any], **_: Any) -> None:
        if data["gpu"] is None and "gpu_name" not in data:
            raise ValidationError("a card outside the catalog needs a gpu_name", "gpu")
        if data["as_of"] is None and "as_of_estimate" not in data:
            raise ValidationError("an undated price needs an as_of_estimate", "as_of")


class MeasurementSourceSchema(_Strict):
    """A row of config/measurements/sources.yaml."""

    id = Text(required=True)
    name = Text(required=True)
    url = Text(required=True, check=lambda url: url.startswith("https://"))
    note = Text()
