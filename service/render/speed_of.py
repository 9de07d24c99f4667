"""The speed behind a price or beside a measurement: of a sizing, by the constants of the catalog."""

from collections.abc import Callable

from service.catalog import Catalog
from service.core.cost.estimate import SpeedOf
from service.core.sizing import Sizing
from service.core.speed.estimate import estimate
from service.core.speed.result import Speed


def speed_or_reasons_by(catalog: Catalog) -> SpeedOf:
    """What estimates the speed of a sizing, or says why it has none."""
    return lambda sizing: estimate(sizing, catalog.speed)


def speed_by(catalog: Catalog) -> Callable[[Sizing], Speed | None]:
    """What estimates the speed of a sizing; None where it has none."""
    known = speed_or_reasons_by(catalog)

    def found(sizing: Sizing) -> Speed | None:
        speed = known(sizing)
        return speed if isinstance(speed, Speed) else None

    return found
