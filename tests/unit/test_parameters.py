"""What follows from a config.json alone equals the published counts, for every catalog model."""

import pytest

from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.architecture.summary import (
    active_parameters,
    indexer_bytes_per_token_16bit,
    kv_bytes_per_token_16bit,
    layer_groups,
    parameter_table,
    read_parameters_per_token,
    state_bytes_per_sequence,
    total_parameters,
    window_bytes_per_sequence_16bit,
)
from service.core.layout import valid_degrees
from tests.published import expectations, models

ALL = sorted(models())
EXACT = [model for model in ALL if models()[model]["parameters"]["exact"]]


def architecture(model: str) -> Architecture:
    return parse(models()[model]["config"])


@pytest.mark.parametrize("model", EXACT)
def test_total_parameters_equal_the_published_count(model):
    """To the last parameter, with the vision tower and the draft layers that the checkpoint holds."""
    assert total_parameters(architecture(model)) == models()[model]["parameters"]["total"]


@pytest.mark.parametrize("model", ALL)
def test_parameter_table_sums_to_the_total(model):
    """No tensor is missing from the table or in it twice."""
    arch = architecture(model)
    assert sum(parameter_table(arch).values()) == total_parameters(arch)


@pytest.mark.parametrize("model", ALL)
def test_active_parameters(model):
    """Text model, both embeddings, the routed experts of one token; no drafts, vision, lookup tables."""
    arch = architecture(model)
    assert active_parameters(arch) == models()[model]["parameters"]["active"]
    assert active_parameters(arch) == expectations()[model]["active_parameters"]


@pytest.mark.parametrize("model", ALL)
def test_parameters_read_per_token(model):
    """An untied input embedding is a lookup of one row; a tied one is read as the output matrix."""
    expected = expectations()[model]
    without = expected.get("active_parameters_without_input_embedding")
    arch = architecture(model)
    if arch.tied:
        assert read_parameters_per_token(arch) == expected["active_parameters"]
    elif without is not None:
        assert read_parameters_per_token(arch) == without


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize(
    "figure",
    [
        kv_bytes_per_token_16bit,
        indexer_bytes_per_token_16bit,
        window_bytes_per_sequence_16bit,
        state_bytes_per_sequence,
    ],
    ids=lambda figure: figure.__name__,
)
def test_cache_and_state_bytes(model, figure):
    """Growing cache, index keys, windows and recurrent state, as the reference implementation keeps them."""
    assert figure(architecture(model)) == expectations()[model][figure.__name__]


@pytest.mark.parametrize("model", ALL)
def test_tensor_parallel_degrees(model):
    """The degrees by divisibility; where the expectation goes beyond 64 the limit follows it."""
    expected = expectations()[model]["valid_tp"]
    assert list(valid_degrees(architecture(model), max(64, *expected))) == expected


@pytest.mark.parametrize("model", ALL)
def test_like_layers_share_their_tensors(model):
    """A model of a hundred layers holds few tensor lists, so that sums can go over distinct ones."""
    layers = architecture(model).layers
    assert len({id(layer.tensors) for layer in layers}) == len({layer.tensors for layer in layers})


@pytest.mark.parametrize("model", ALL)
def test_layer_groups_count_every_layer_once(model):
    """The groups partition the layers."""
    arch = architecture(model)
    assert sum(group.count for group in layer_groups(arch)) == len(arch.layers)
