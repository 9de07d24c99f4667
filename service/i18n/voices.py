"""The voices of the service, built from the message catalogs under `translations/`."""

from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from service.core.cost.currency import ExchangeRate
from service.i18n.languages import LANGUAGES, Language
from service.i18n.voice import Voice

TRANSLATIONS = Path(__file__).parents[2] / "translations"


def catalog_path(language: Language, directory: Path = TRANSLATIONS) -> Path:
    """The message catalog of a language."""
    return directory / language.catalog_name / "LC_MESSAGES" / "messages.po"


@cache
def voice(tag: str, rate: ExchangeRate | None = None) -> Voice:
    """The one voice of the language `tag`; KeyError for a language that is not spoken.

    rate: of the currency that it says prices in, None for US dollars.
    """
    language = LANGUAGES[tag]
    return Voice(language, _translations(tag), rate)


@cache
def _translations(tag: str) -> GNUTranslations:
    language = LANGUAGES[tag]
    return load(catalog_path(language), language)


def load(path: Path, language: Language) -> GNUTranslations:
    """A .po file compiled in memory, so that no compiled catalog can be older than its source.

    Raises OSError when the file cannot be read, babel's PoFileError when it is malformed.
    """
    with path.open("rb") as source:
        catalog = read_po(source, locale=language.locale, abort_invalid=True)
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return GNUTranslations(compiled)
