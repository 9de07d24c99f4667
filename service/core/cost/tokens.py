"""What a million tokens cost on hardware that is busy all the time."""

from decimal import Decimal

from service.core.cost.money import MoneyRange, decimal
from service.core.speed.result import Estimate

_MILLION_PER_SECONDS = Decimal(1_000_000) / 3600


def usd_per_million(usd_per_hour: Decimal, tokens_per_second: Estimate) -> MoneyRange:
    """Price of the hardware divided by its aggregate rate; a low rate is a high cost.

    usd_per_hour / (tokens_per_second * 3600) * 10^6, all sequences together.
    """
    price = usd_per_hour * _MILLION_PER_SECONDS
    return MoneyRange(
        low=price / decimal(tokens_per_second.high),
        estimate=price / decimal(tokens_per_second.estimate),
        high=price / decimal(tokens_per_second.low),
    )
