"""Measurements with their history, API keys, the audit log, and the revision of what is published."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBERS = (
    "gpu_count",
    "tensor_parallel",
    "expert_parallel",
    "context_tokens",
    "prompt_tokens",
    "output_tokens",
    "concurrency",
    "speculative_tokens",
)
_RATES = (
    "draft_acceptance",
    "cpu_offload_percent",
    "decode_tokens_per_second",
    "decode_tokens_per_second_per_sequence",
    "prefill_tokens_per_second",
    "time_to_first_token_ms",
)
_NAMES = ("model", "gpu", "published_model", "published_gpu")
_TEXTS = (
    "interconnect",
    "engine",
    "engine_version",
    "backend",
    "quantization",
    "kv_cache_dtype",
    "source_url",
    "log",
    "note",
)


def upgrade() -> None:
    """Create the tables."""
    storage = op.create_table(
        "storage",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("schema", sa.Integer, nullable=False),
        sa.Column("oldest_writer", sa.Integer, nullable=False),
    )
    op.bulk_insert(storage, [{"id": 1, "revision": 1, "schema": 1, "oldest_writer": 1}])
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("last_used_on", sa.String(10)),
    )
    _measurements()
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("request_id", sa.String(128)),
    )


def _measurements() -> None:
    op.create_table(
        "measurement",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in _NAMES),
        *(sa.Column(name, sa.Integer) for name in _NUMBERS),
        *(sa.Column(name, sa.Float) for name in _RATES),
        *(sa.Column(name, sa.Text) for name in _TEXTS),
        sa.Column("date", sa.String(10)),
    )
    op.create_index("measurement_by_status", "measurement", ["status", "created_at", "id"])
    op.create_table(
        "measurement_history",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("measurement_id", sa.String(40), sa.ForeignKey("measurement.id"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "history_by_measurement", "measurement_history", ["measurement_id", "version"], unique=True
    )


def downgrade() -> None:
    """Drop the tables, with all that was uploaded."""
    for table in ("measurement_history", "measurement", "audit", "api_key", "storage"):
        op.drop_table(table)
