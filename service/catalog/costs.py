"""costs.yaml, offers and hardware prices -> the core's CostFacts."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Any

from marshmallow import RAISE, Schema, fields

from service.catalog.fields import Fraction, Positive, Text, Whole, is_day
from service.catalog.validation import validated
from service.catalog.yaml_files import read_yaml
from service.core.cost.facts import CostFacts, HardwarePrice, HostPower, Offer
from service.core.hardware import GpuKind
from service.errors import CatalogError

COSTS_FILE = "costs.yaml"
Row = Mapping[str, Any]


class _Strict(Schema):
    class Meta:
        unknown = RAISE


class HostPowerSchema(_Strict):
    """What machines of one kind draw beside their accelerators."""

    host_watts_per_gpu_watt = Fraction(required=True)
    host_watts_per_machine = Whole(required=True)
    pue = Positive(required=True)
    evidence = Text("estimate", required=True)
    source = Text(required=True)


class CostsSchema(_Strict):
    """config/costs.yaml."""

    as_of = Text(required=True, check=is_day)
    power = fields.Dict(keys=Text(*GpuKind), values=fields.Nested(HostPowerSchema), required=True)


def read_costs(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The validated file.

    Raises CatalogError when it is missing or wrong, or leaves a kind of accelerator out.
    """
    if COSTS_FILE not in files:
        raise CatalogError(COSTS_FILE, "file", "does not exist")
    stated = validated(CostsSchema(), read_yaml(files[COSTS_FILE], COSTS_FILE), COSTS_FILE)
    for kind in GpuKind:
        if kind not in stated["power"]:
            raise CatalogError(COSTS_FILE, f"power.{kind}", "must be there")
    return stated


def cost_facts(stated: Row, offers: Collection[Row], gpus: Iterable[Row]) -> CostFacts:
    """Everything that costs are computed from, the age of each price counted to the day of collection.

    A later price of the operator moves that day, so that no price is younger than it and none looks fresher
    than it is.
    """
    later = (row["as_of"] for row in offers if "provided_by" in row and row["as_of"])
    day = date.fromisoformat(max((stated["as_of"], *later)))
    return CostFacts(
        as_of=day.isoformat(),
        offers=tuple(_offer(row, number, day) for number, row in enumerate(offers, start=1)),
        prices=MappingProxyType({row["id"]: _prices(row["price_usd"]) for row in gpus}),
        power=MappingProxyType({GpuKind(kind): _host(row) for kind, row in stated["power"].items()}),
    )


def _offer(row: Row, number: int, day: date) -> Offer:
    """An offer; its place in the file makes its id."""
    seen = row["as_of"]
    age = None if seen is None else (day - date.fromisoformat(seen)).days
    return Offer(**row, id=f"offer-{number}", age_days=age)


def _prices(stated: Row) -> tuple[HardwarePrice, ...]:
    """The list price and the street price, as far as they are known."""
    found = []
    if stated["msrp"] is not None:
        found.append(HardwarePrice("list", stated["msrp"], stated["msrp"]))
    street = stated.get("street")
    if street is not None:
        found.append(HardwarePrice("street", street["low"], street["high"], street["used"], street["as_of"]))
    return tuple(found)


def _host(row: Row) -> HostPower:
    return HostPower(row["host_watts_per_gpu_watt"], row["host_watts_per_machine"], row["pue"], row["source"])
