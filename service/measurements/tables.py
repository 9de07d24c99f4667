"""The tables; times are Unix seconds, because SQLite and PostgreSQL agree on whole numbers.

A new column is nullable and comes with a migration: servers of the version before go on writing beside it.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()

# One row. revision: changes with every change of what is published, see `revision`. schema: migration that
# the tables are at. oldest_writer: the oldest migration whose servers may still write.
storage = Table(
    "storage",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("schema", Integer, nullable=False),
    Column("oldest_writer", Integer, nullable=False),
)

api_key = Table(
    "api_key",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_used_on", String(10)),
)

measurement = Table(
    "measurement",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("status", String(16), nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("model", Text, nullable=False),
    Column("gpu", Text, nullable=False),
    Column("published_model", Text, nullable=False),
    Column("published_gpu", Text, nullable=False),
    Column("gpu_count", Integer),
    Column("interconnect", Text),
    Column("tensor_parallel", Integer),
    Column("expert_parallel", Integer),
    Column("engine", Text),
    Column("engine_version", Text),
    Column("backend", Text),
    Column("quantization", Text),
    Column("context_tokens", Integer),
    Column("prompt_tokens", Integer),
    Column("output_tokens", Integer),
    Column("concurrency", Integer),
    Column("speculative_tokens", Integer),
    Column("draft_acceptance", Float),
    Column("kv_cache_dtype", Text),
    Column("cpu_offload_percent", Float),
    Column("power_limit_watts", Float),
    Column("decode_tokens_per_second", Float),
    Column("decode_tokens_per_second_per_sequence", Float),
    Column("prefill_tokens_per_second", Float),
    Column("time_to_first_token_ms", Float),
    Column("date", String(10)),
    Column("source_url", Text),
    Column("log", Text),
    Column("note", Text),
    Index("measurement_by_status", "status", "created_at", "id"),
    Index("measurement_by_key", "key_id", "status"),
)

history = Table(
    "measurement_history",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("measurement_id", String(40), ForeignKey("measurement.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("note", Text),
    Column("key_id", String(16), nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("history_by_measurement", "measurement_id", "version", unique=True),
)

audit = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("action", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("request_id", String(128)),
)

# What an Idempotency-Key of an API key stood for, and what was answered.
idempotency = Table(
    "idempotency",
    METADATA,
    Column("key_id", String(16), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("answer", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
