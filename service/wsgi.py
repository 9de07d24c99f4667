"""The WSGI entry: `service.wsgi:app`."""

from service.app import start
from service.errors import CatalogError
from service.settings import read_settings

try:
    app = start(read_settings())
except CatalogError as error:
    raise SystemExit(f"A fact is wrong: {error}") from None  # where it is, without a traceback around it
