"""The settings of a running server, whose environment may become wrong: a file or folder that is gone."""

from service.settings.reading import InvalidSettings, read_settings
from service.settings.values import Settings


class LastSettings:
    """The settings of the environment, or the last valid ones once there were any.

    fault: what is wrong with those of the environment; None when they are in use.
    """

    def __init__(self) -> None:
        self.fault: str | None = None
        self._valid: Settings | None = None

    def read(self) -> Settings:
        """Raises InvalidSettings when there were no valid ones before."""
        try:
            self._valid, self.fault = read_settings(), None
        except InvalidSettings as error:
            if self._valid is None:
                raise
            self.fault = str(error)
        return self.valid

    @property
    def valid(self) -> Settings:
        """The settings that `read` returned last."""
        assert self._valid is not None, "read() comes first"
        return self._valid


SETTINGS = LastSettings()
