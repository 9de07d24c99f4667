"""The shape of config/gpus.yaml."""

from marshmallow import RAISE, Schema, fields

from service.catalog.fields import Flag, Positive, Text, Whole, is_day, is_id, is_period
from service.core.hardware import GpuKind


class _Strict(Schema):
    class Meta:
        unknown = RAISE


class MemorySchema(_Strict):
    """gb: the label. driver_mib: total that the driver reports, in MiB, and how well that is known."""

    gb = Whole(least=1, required=True)
    driver_mib = Whole(least=1)
    driver_evidence = Text("calibrated", "estimate")
    driver_source = Text()
    type = Text(required=True, allow_none=True)
    bandwidth_gbs = Positive(required=True, allow_none=True)
    bus_bits = Whole(least=1)
    data_rate_gbps = Positive()
    unified_usable_fraction = Positive()


class TflopsSchema(_Strict):
    """Dense matrix rates; fp16 is FP16 or BF16 with FP32 accumulation."""

    fp16 = Positive(required=True, allow_none=True)
    fp8 = Positive(required=True, allow_none=True)
    int8 = Positive(required=True, allow_none=True)
    fp4 = Positive(required=True, allow_none=True)
    bf16 = Positive()
    fp16_fp16_accumulate = Positive()
    fp8_fp16_accumulate = Positive()


class InterconnectSchema(_Strict):
    """gbs: both directions together, for one accelerator; null when only PCIe or not known."""

    type = Text(required=True, allow_none=True)
    gbs = Positive(required=True, allow_none=True)
    pcie = Text(required=True, allow_none=True)


class StreetPriceSchema(_Strict):
    """What a card is sold for outside the list price."""

    low = Positive(required=True)
    high = Positive(required=True)
    used = Flag(required=True)
    as_of = Text(required=True)
    text = Text(required=True)


class PriceSchema(_Strict):
    """List price and street price in US dollars."""

    msrp = Positive(required=True, allow_none=True)
    as_of = Text(required=True, allow_none=True)
    street = fields.Nested(StreetPriceSchema)


class EngineOnGpuSchema(_Strict):
    """An engine that runs here and through which backend."""

    engine = Text(required=True)
    backend = Text(required=True)
    note = Text()
    port = Flag()


class GpuSchema(_Strict):
    """A row of config/gpus.yaml."""

    id = Text(required=True, check=is_id)
    name = Text(required=True)
    vendor = Text(required=True)
    family = Text(required=True)
    kind = Text(*GpuKind, required=True)
    released = Text(required=True, allow_none=True, check=is_period)
    exists = Flag()
    aliases = fields.List(Text(), required=True)
    memory = fields.Nested(MemorySchema, required=True)
    tflops = fields.Nested(TflopsSchema, required=True)
    tdp_watts = Whole(least=1, required=True, allow_none=True)
    interconnect = fields.Nested(InterconnectSchema, required=True)
    max_per_node = Whole(least=1, required=True)
    compute_capability = Whole(least=1)
    price_usd = fields.Nested(PriceSchema, required=True)
    engines = fields.List(fields.Nested(EngineOnGpuSchema), required=True)
    other_engines = fields.List(Text())
    engines_evidence = Text(required=True)
    evidence = Text("database", "secondary", "estimate", required=True)
    sources = fields.List(Text(), required=True)
    notes = Text()
    checked = Text(required=True, check=is_day)
