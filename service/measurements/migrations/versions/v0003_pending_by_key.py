"""An index that counts what of a key waits for review; servers at 0001 and 0002 go on writing."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the index."""
    op.create_index("measurement_by_key", "measurement", ["key_id", "status"])
    op.execute("UPDATE storage SET schema = 3")


def downgrade() -> None:
    """Take it away; nothing else changes."""
    op.drop_index("measurement_by_key", "measurement")
    op.execute("UPDATE storage SET schema = 2")
