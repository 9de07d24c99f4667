"""What a visitor would guess without a model of the engine, to compare with."""

from service.calibration.observations import Observation

_PART, _CAP = 0.725, 200.0  # the middle of the 60-85 % that guides name, and their cap


def whole_model(row: Observation) -> float:
    """Bandwidth divided by the size of the model, times the streams and the ranks that read at once."""
    sums = row.run.work.weights
    return _rate(row) / (sums.fixed_bytes + sums.expert_bytes) * row.run.sequences


def active_bytes(row: Observation) -> float:
    """72.5 % of the bandwidth over the bytes that one token reads, at most 200 tokens/s a stream."""
    return min(_CAP, _PART * _rate(row) / row.run.work.bytes_read(1)) * row.run.sequences


def _rate(row: Observation) -> float:
    return row.run.bandwidth * (1 if row.run.layer_split else row.run.layout.tensor)
