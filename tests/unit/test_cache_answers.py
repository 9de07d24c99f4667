"""Answers as bytes: what goes in comes out, and nothing else comes out."""

import pickle
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.cache import CachedAnswer, CorruptAnswer
from service.cache.stored import packed, unpacked

ANSWER = CachedAnswer(
    200,
    (
        ("Content-Type", "text/html; charset=utf-8"),
        ("ETag", '"abc"'),
        ("Cache-Control", "public, max-age=300"),
    ),
    "<p>Größe 千</p>".encode(),
    '"abc"',
    (("sizing.language", "de"),),
)
TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=40)


@given(st.integers(100, 599), st.lists(st.tuples(TEXT, TEXT), max_size=4), st.binary(max_size=4000), TEXT)
def test_an_answer_survives_the_way_to_redis_and_back(
    status: int, headers: list[tuple[str, str]], body: bytes, etag: str
) -> None:
    """Plain or deflated, every field comes back equal."""
    answer = CachedAnswer(status, tuple(headers), body, etag)
    assert CachedAnswer.from_bytes(unpacked(packed(answer))[1]) == answer


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_corrupt(data: bytes) -> None:
    """Whatever Redis holds, reading it raises nothing but CorruptAnswer."""
    with pytest.raises(CorruptAnswer):
        CachedAnswer.from_bytes(data)


@pytest.mark.parametrize("position", range(0, 120, 7))
def test_one_flipped_bit_is_noticed(position: int) -> None:
    """A damaged value is a miss, never a wrong number."""
    data = bytearray(ANSWER.to_bytes())
    data[position] ^= 4
    with pytest.raises(CorruptAnswer):
        CachedAnswer.from_bytes(bytes(data))


@pytest.mark.parametrize("cut", [0, 1, 4, 8, 12, 40, -1])
def test_a_cut_off_value_is_noticed(cut: int) -> None:
    """Half an answer is none."""
    with pytest.raises(CorruptAnswer):
        CachedAnswer.from_bytes(ANSWER.to_bytes()[:cut])


def test_a_header_cannot_bring_another_header() -> None:
    """A line break inside a stored header would let whoever writes to Redis add headers."""
    evil = CachedAnswer(200, (("X", "a\r\nSet-Cookie: b"),), b"", '"e"')
    with pytest.raises(CorruptAnswer):
        CachedAnswer.from_bytes(evil.to_bytes())


def test_a_pickle_is_not_an_answer() -> None:
    """Values are data: nothing that Redis holds can run code here."""
    with pytest.raises(CorruptAnswer):
        CachedAnswer.from_bytes(pickle.dumps(ANSWER))
    sources = Path(__file__).resolve().parents[2].joinpath("service").rglob("*.py")
    importing = [path for path in sources if "import pickle" in path.read_text(encoding="utf-8")]
    assert importing == []


def test_a_value_that_inflates_without_end_is_refused() -> None:
    """A few kilobytes in Redis must not become gigabytes here."""
    bomb = b"2" + bytes(5) + zstandard.compress(b"\0" * (65 * 2**20))
    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match="too large"):
        unpacked(bomb)


@pytest.mark.parametrize(
    ("status", "control", "etag", "storable"),
    [
        (200, "public, max-age=300", '"a"', True),
        (200, "", '"a"', True),
        (200, "no-store", '"a"', False),
        (200, "private", '"a"', False),
        (200, "public", "", False),
        (200, "public", 'W/"a"', False),
        (404, "public", '"a"', False),
        (422, "", "", False),
        (500, "public", '"a"', False),
    ],
)
def test_only_successes_with_a_strong_validator_are_kept(
    status: int, control: str, etag: str, storable: bool
) -> None:
    """Errors and what forbids storing are computed each time."""
    assert CachedAnswer(status, (("cache-control", control),), b"x", etag).storable is storable
