"""The WSGI entry: `service.wsgi:app`."""

from service.app import create_app, prepare
from service.logs import configure_logs
from service.settings import read_settings

_settings = read_settings()
configure_logs(_settings.log_level)
app = create_app(_settings)
prepare(app, _settings.warm_up_seconds)
