"""alembic's entry: migrates the connection that it is handed, within that connection's transaction."""

from alembic import context

from service.measurements.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
