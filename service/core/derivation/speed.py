"""Steps of a speed, beside those of a sizing."""

from service.core.derivation.decode import decode_steps
from service.core.derivation.derive import Further
from service.core.derivation.prompt import prompt_steps
from service.core.derivation.speed_terms import told
from service.core.derivation.steps import Trace
from service.core.sizing import Sizing
from service.core.speed.constants import SpeedConstants
from service.core.speed.result import Speed, Withheld


def speed_steps(sizing: Sizing, constants: SpeedConstants, speed: Speed | Withheld | None) -> Further:
    """What adds the steps of a sizing's speed to its derivation; nothing where it has none."""

    def add(trace: Trace) -> None:
        if isinstance(speed, Speed):
            about = told(trace, sizing, constants, speed)
            prompt_steps(about, speed, decode_steps(about, speed))

    return add
