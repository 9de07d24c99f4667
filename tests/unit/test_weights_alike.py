"""Layers that are alike stand in a table once, and are told apart where the quantizer tells them apart."""

import gc
from collections.abc import Iterable
from dataclasses import replace
from weakref import ref

import pytest

from service.core.architecture.model import Architecture, Layer
from service.core.architecture.tensors import TensorClass
from service.core.speed.work import work_of
from service.core.weights.formats import FORMATS
from service.core.weights.gguf import weigh_gguf
from service.core.weights.weigh import forget_catalogued, weigh, weigh_architecture
from tests.unit.factories import make_model
from tests.unit.test_weights_gguf import matrix, model

VALUE, DOWN, SHARED = "attn_v.weight", "ffn_down_exps.weight", "ffn_down_shexp.weight"


def layers_of(architecture: Architecture, quantization: str, role: str) -> dict[str, list[int]]:
    """Encoding -> the layers whose tensor of this role has it."""
    found: dict[str, list[int]] = {}
    for weighed in weigh_gguf(architecture, quantization):
        if weighed.tensor.role == role:
            found.setdefault(weighed.encoding, []).extend(weighed.layers)
    return {encoding: sorted(layers) for encoding, layers in found.items()}


def alternating(architecture: Architecture, other: Layer) -> Architecture:
    """Every second layer another one."""
    pairs = ((layer, other) for layer in architecture.layers[::2])
    return replace(architecture, layers=tuple(layer for pair in pairs for layer in pair))


def without(layer: Layer, roles: Iterable[str]) -> Layer:
    return replace(layer, tensors=tuple(tensor for tensor in layer.tensors if tensor.role not in roles))


def test_what_layers_share_stands_in_a_table_once() -> None:
    """32 layers of nine tensors in one type, and three beside them: twelve entries for 291 tensors."""
    table = weigh_architecture(model(), "q6_k")
    assert len(table.tensors) == 9 + 3
    assert sum(weighed.count for weighed in table.tensors) == 32 * 9 + 3


@pytest.mark.parametrize("name", FORMATS)
def test_kinds_are_all_layers_with_all_that_they_hold(name: str) -> None:
    """Each layer is of one kind, and its kind's tensors are all it has: nine, or ten with experts."""
    for architecture, each in ((model(), 9), (model(experts=16), 10)):
        table = weigh_architecture(architecture, name)
        kinds = list(table.kinds())
        assert sorted(layer for layers, _ in kinds for layer in layers) == list(range(32))
        assert {len(tensors) for _, tensors in kinds} == {each}
        within = sum(len(layers) * weighed.bytes for layers, tensors in kinds for weighed in tensors)
        assert within + sum(weighed.bytes for weighed in table.outside) == table.total_bytes


def test_values_are_counted_through_layers_of_different_kinds() -> None:
    """Q4_K_S gives the first four values more bits: the first four layers, also where two kinds alternate."""
    plain = model(layers=16)
    wider = tuple(
        matrix(VALUE, 2048, 4096) if tensor.role == VALUE else tensor for tensor in plain.layers[0].tensors
    )
    mixed = alternating(plain, replace(plain.layers[0], tensors=wider))
    assert layers_of(mixed, "q4_k_s", VALUE) == {"q5_k": [0, 1, 2, 3], "q4_k": list(range(4, 16))}


def test_layers_without_values_are_not_counted() -> None:
    """Where every second layer has none, the first four values are those of layers 0, 2, 4 and 6."""
    plain = model(layers=16)
    mixed = alternating(plain, without(plain.layers[0], {VALUE}))
    assert layers_of(mixed, "q4_k_s", VALUE) == {"q5_k": [0, 2, 4, 6], "q4_k": [8, 10, 12, 14]}


def test_down_projections_of_experts_are_counted_by_layer_but_not_in_low_bit_types() -> None:
    """Of 16 layers an eighth is two.

    Q4_K_S takes the layer's number: layers 0 and 1, routed and shared experts. IQ1_M counts one by one, and
    a layer has two: both of layer 0.
    """
    plain = model(layers=16, experts=16)
    shared = matrix(SHARED, 4096, 2048, kind=TensorClass.SHARED_EXPERTS)
    layer = replace(plain.layers[0], tensors=(*plain.layers[0].tensors, shared))
    architecture = replace(plain, layers=(layer,) * 16)
    for role in (DOWN, SHARED):
        assert layers_of(architecture, "q4_k_s", role)["q5_k"] == [0, 1]
        assert layers_of(architecture, "iq1_m", role)["q2_k"] == [0]


def test_the_family_of_a_format_is_its_own_by_default() -> None:
    """Asked for by name or not, it is one table."""
    one = make_model(architecture=model())
    assert weigh(one, "q4_k_m") is weigh(one, "q4_k_m", family=FORMATS["q4_k_m"].family)


def test_sums_of_weights_are_forgotten_with_their_model() -> None:
    """What outlives a table does not outlive a catalog: a reload leaves nothing of the models before."""
    one = make_model(architecture=model())
    assert work_of(one, "q4_k_m", None).weights.fixed_bytes > 0
    forget_catalogued()
    gone = ref(one)
    del one
    gc.collect()
    assert gone() is None
