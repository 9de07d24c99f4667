"""Configurations of one model on one accelerator: the best format for each number of GPUs."""

from collections.abc import Iterable, Iterator

from service.core.catalogued import Model
from service.core.cost.elsewhere import RUNS, sized_without_limits
from service.core.cost.rent import Rental, rentals
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.hardware import Gpu, GpuKind
from service.core.notes import Note
from service.core.planning.formats import LADDERS, ladder, nominal_bits
from service.core.planning.prices import cheapest_purchase, is_old
from service.core.planning.question import Demands, Facts, Left, Option, Question
from service.core.planning.reach import Reach
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import DEGREES
from service.core.sizing import Sizing, Verdict
from service.core.speed.result import Speed
from service.core.weights.formats import FORMATS, Family
from service.errors import InvalidParameters

# One engine for each kind of file; the others load the same files and are planned for by name.
TRIED = ("llama.cpp", "vllm", "mlx")
_WORTH_A_GPU = 2  # nominal bits that a format must gain for more GPUs to be listed
_LAYOUT = frozenset({"gpu_count", *DEGREES})
_NEAR_MISSES = frozenset({"plan_too_dear", "plan_too_slow", "plan_first_token_late"})
_WHOLE_LAYERS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
_TENSORS = (1, 2, 4, 8, 16, 32, 64)


def engines_of(question: Question, gpu: Gpu) -> tuple[Engine, ...]:
    """The engines that a plan tries on an accelerator."""
    names = TRIED if question.engine is None else (question.engine,)
    found: Iterable[Engine] = [ENGINES[name] for name in names if gpu.backends(name)]
    wanted = question.quantization
    if gpu.kind is GpuKind.DATACENTER:
        found = reversed(list(found))  # served rather than run for one person
    return tuple(engine for engine in found if wanted is None or wanted in engine.formats)


def search(
    model: Model, gpu: Gpu, question: Question, facts: Facts, *, best_only: bool = False
) -> tuple[list[Option], Left | None]:
    """Options of a model on an accelerator within one machine, or why there is none.

    More GPUs are listed only with a format of at least two more bits than fewer have.
    best_only: further engines are only asked for better formats than the first one has.
    """
    if not gpu.exists:
        return [], Left(Note("gpu_does_not_exist", {"gpu": gpu.name}), Verdict.UNKNOWN, model, gpu)
    found: list[Option] = []
    left: list[Left] = []
    for engine in engines_of(question, gpu):
        above = max((o.bits for o in found), default=0) if best_only else 0
        walk = _Walk(model, gpu, engine, question, facts, above)
        found += walk.options(_counts(question, gpu, engine))
        if walk.left is not None:
            left.append(walk.left)
    if found:
        return found, None
    if not left:
        engine_name = question.engine or question.quantization or TRIED[0]
        return [], Left(
            Note("engine_not_on_gpu", {"engine": engine_name, "gpu": gpu.name}),
            Verdict.UNSUPPORTED,
            model,
            gpu,
        )
    return [], left[0]


def sized(
    model: Model, gpu: Gpu, gpu_count: int, engine: str, quantization: str, question: Question
) -> Sizing | Note:
    """The sizing of one configuration, or why the engine has none for it."""
    request = Request(
        model=model,
        gpu=gpu,
        gpu_count=gpu_count,
        engine=engine,
        quantization=quantization,
        **question.values,
    )
    try:
        return sized_without_limits(resolve(request))
    except InvalidParameters as error:
        names = sorted({wrong.parameter for wrong in error.errors})
        if _LAYOUT.issuperset(names):
            return Note("no_layout_on_gpus", {"gpu": gpu.name, "gpu_count": gpu_count})
        return Note("plan_parameters_refused", {"fields": names, "engine": engine, "gpu": gpu.name})


def option(sizing: Sizing, facts: Facts) -> Option:
    """A configuration that runs, with its speed and what is known of its prices."""
    gpu, count = sizing.scenario.gpu, sizing.scenario.gpu_count
    purchase = cheapest_purchase(gpu, count, facts)
    old = purchase is not None and is_old(purchase, facts.costs.as_of)
    return Option(sizing, facts.speed_of(sizing), _rental(gpu, count, facts), purchase, old)


def _rental(gpu: Gpu, count: int, facts: Facts) -> Rental | None:
    found = rentals(gpu, count, facts.costs.offers)
    return found[0] if found else None


def _counts(question: Question, gpu: Gpu, engine: Engine) -> tuple[int, ...]:
    if question.gpu_count is not None:
        return (question.gpu_count,)
    numbers = _WHOLE_LAYERS if engine.splits_layers else _TENSORS
    within = tuple(count for count in numbers if count < gpu.max_per_node)
    return (*within, gpu.max_per_node)


class _Walk:
    """One engine on one accelerator; `left` is the last reason why a configuration was not taken."""

    def __init__(
        self, model: Model, gpu: Gpu, engine: Engine, question: Question, facts: Facts, above: int = 0
    ) -> None:
        self.model, self.gpu, self.engine = model, gpu, engine
        self.question, self.facts = question, facts
        wanted = question.quantization
        formats = ladder(engine, model.architecture) if wanted is None else (wanted,)
        self.formats = tuple(name for name in formats if nominal_bits(name) > above)
        self.left: Left | None = None
        self.reach = Reach(model, gpu, offloads=bool(question.values.get("cpu_offload_percent")))

    def options(self, counts: tuple[int, ...]) -> Iterator[Option]:
        """The best format for each number of GPUs, while it gets better by two bits."""
        rest = self.formats
        for count in counts:
            if not rest:
                return
            found = self._best(count, rest) if self._affordable(count) else None
            if found is None:
                continue
            yield found
            rest = tuple(name for name in rest if nominal_bits(name) >= found.bits + _WORTH_A_GPU)

    def _best(self, count: int, formats: tuple[str, ...]) -> Option | None:
        """The first format that runs and meets the demands."""
        for quantization in formats:
            if self._hopeless(count, quantization):
                continue
            sizing = sized(self.model, self.gpu, count, self.engine.id, quantization, self.question)
            if isinstance(sizing, Note):
                self._leave(sizing, count, quantization, Verdict.UNSUPPORTED)
                continue
            self.reach.learn(sizing.plan)
            if sizing.verdict in RUNS:
                found = option(sizing, self.facts)
                refusal = too_slow(found, self.question.demands)
                if refusal is None:
                    return found
                self._leave(refusal, count, quantization, sizing.verdict)
                continue
            self._leave(sizing.reasons[0], count, quantization, sizing.verdict)
            if sizing.verdict is not Verdict.DOES_NOT_FIT:
                return None  # no format changes that
        return None

    def _hopeless(self, count: int, quantization: str) -> bool:
        """Whether the weights and what was seen to stand beside them exceed all GPUs together."""
        least = self.reach.exceeded_by(quantization, count)
        if least is None:
            return False
        if self.left is None or self.left.reason.code == "plan_weights_too_large":
            values = {"format": quantization, "least_bytes": least, "gpu_count": count}
            note = Note("plan_weights_too_large", {**values, "gpu": self.gpu.name})
            self._leave(note, count, quantization)
        return True

    def _affordable(self, count: int) -> bool:
        most = self.question.demands.max_usd_per_hour
        if most is None:
            return True
        rental = _rental(self.gpu, count, self.facts)
        if rental is None:
            note = Note("no_offer_known", {"gpu": self.gpu.name, "gpu_count": count})
            self._leave(note, count, verdict=Verdict.UNKNOWN)
            return False
        price = float(rental.usd_per_hour)
        if price > most:
            note = Note("plan_too_dear", {"usd_per_hour": price, "most_usd": most})
            self._leave(note, count, verdict=Verdict.UNKNOWN)
        return price <= most

    def _leave(
        self,
        reason: Note,
        count: int,
        quantization: str | None = None,
        verdict: Verdict = Verdict.DOES_NOT_FIT,
    ) -> None:
        """Keep a reason: of a price or a speed the first, which is the nearest miss, else the last."""
        if self.left is None or self.left.reason.code not in _NEAR_MISSES:
            self.left = Left(reason, verdict, self.model, self.gpu, count, self.engine.id, quantization)


def too_slow(found: Option, demands: Demands) -> Note | None:
    """Which demand on speed an option misses; an unknown speed misses each."""
    least, most = demands.min_decode_tokens_per_second, demands.max_ttft_ms
    if least is None and most is None:
        return None
    speed = found.speed
    if not isinstance(speed, Speed):
        return Note("plan_speed_unknown")
    if least is not None and speed.decode.estimate < least:
        return Note("plan_too_slow", {"rate": round(speed.decode.estimate, 1), "least": least})
    if most is None:
        return None
    first = speed.time_to_first_token_ms
    if first is None:
        return Note("plan_first_token_unknown")
    if first.estimate > most:
        return Note("plan_first_token_late", {"milliseconds": round(first.estimate), "most": most})
    return None


def next_formats(found: Option, question: Question) -> tuple[str, ...]:
    """Faster formats on the same hardware that are worth listing: the usual 4-bit one, once."""
    if question.quantization is not None:
        return ()
    scenario = found.sizing.scenario
    family: Family = FORMATS[ENGINES[scenario.engine].default_format].family
    four = next((name for name in LADDERS[family] if nominal_bits(name) == 4), None)
    smaller = (
        four is not None
        and found.bits > 4
        and four in ladder(ENGINES[scenario.engine], scenario.model.architecture)
    )
    return (four,) if smaller and four is not None else ()
