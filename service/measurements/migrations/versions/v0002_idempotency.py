"""Answers kept for repeated submissions, a column for the power limit; servers at 0001 go on writing."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a table and a nullable column."""
    op.create_table(
        "idempotency",
        sa.Column("key_id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.add_column("measurement", sa.Column("power_limit_watts", sa.Float))
    op.execute("UPDATE storage SET schema = 2")


def downgrade() -> None:
    """Take both away; the measurements stay."""
    op.drop_column("measurement", "power_limit_watts")
    op.drop_table("idempotency")
    op.execute("UPDATE storage SET schema = 1")
