"""Published configs with something wrong in them, in a fixed order that a seed decides."""

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.published import models

WRONG: tuple[Any, ...] = (
    None, -1, 0, 1, 3, 7.5, 10**6, 10**9, 10**15, 2**63, -(10**18), 1e300, True, "", "64", "x" * 5000,
    [], {}, [0], [-1] * 61, ["x"] * 80, {"x": 1}, [[[]]],
)  # fmt: skip
SIZES = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "intermediate_size")


def mutated(seed: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was done, and the config; each kind of damage in turn, on configs of all parsers."""
    choose = random.Random(seed)
    names = sorted(models())
    kinds: tuple[Callable[..., str], ...] = (
        _lose,
        _replace,
        _replace,
        _replace_size,
        _nest,
        _lengthen,
        _unname,
    )
    for number in range(count):
        name = names[number % len(names)]
        config = json.loads(json.dumps(models()[name]["config"]))
        done = kinds[number % len(kinds)](config, choose)
        yield f"{name}: {done}", config


def _place(config: dict[str, Any], choose: random.Random) -> dict[str, Any]:
    inner = [value for value in config.values() if isinstance(value, dict) and value]
    return choose.choice([config, *inner]) if choose.random() < 0.6 else config


def _lose(config: dict[str, Any], choose: random.Random) -> str:
    place = _place(config, choose)
    field = choose.choice(sorted(place))
    del place[field]
    return f"without {field}"


def _replace(config: dict[str, Any], choose: random.Random) -> str:
    place = _place(config, choose)
    field, wrong = choose.choice(sorted(place)), deepcopy(choose.choice(WRONG))
    place[field] = wrong
    return f"{field} = {str(wrong)[:30]}"


def _replace_size(config: dict[str, Any], choose: random.Random) -> str:
    text = config.get("text_config", config)
    field, factor = choose.choice(SIZES), choose.choice([-1, 0, 2, 1000, 10**7])
    text[field] = int(text.get(field) or 1) * factor
    return f"{field} times {factor}"


def _nest(config: dict[str, Any], choose: random.Random) -> str:
    depth = choose.choice([10, 100, 900])
    nested: Any = 1
    for _ in range(depth):
        nested = {"x": nested} if choose.random() < 0.5 else [nested]
    config[choose.choice([*sorted(config), "extra"])] = nested
    return f"nested {depth} deep"


def _lengthen(config: dict[str, Any], choose: random.Random) -> str:
    place = config.get("text_config", config)
    field = choose.choice(["layer_types", "extra", "mlp_only_layers", "indexer_types", "compress_ratios"])
    place[field] = choose.choice([[1], ["full_attention"], [0.5]]) * choose.choice([10, 1000, 40_000])
    return f"{field} lengthened"


def _unname(config: dict[str, Any], choose: random.Random) -> str:
    """An unknown class, so that the generic rule reads it, and something else wrong beside it."""
    config["architectures"] = ["SomethingNewForCausalLM"]
    for place in (config, config.get("text_config", {})):
        if choose.random() < 0.7:
            place["model_type"] = "something_new"
    return f"unknown class, {_replace(config, choose) if choose.random() < 0.7 else _lose(config, choose)}"
