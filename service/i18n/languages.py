"""The one table of languages that the service speaks."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from babel import Locale


@dataclass(frozen=True, slots=True)
class Language:
    """One language: the API's tag, its CLDR locale, and the tag of Content-Language and of HTML's `lang`.

    sentence_separator: what stands between two sentences of a paragraph; Chinese writes none.
    unspaced: characters, as in a regular expression's set, that have no space between them. Messages hold one
    around each value, for Latin names and digits; it goes where the value turns out to be such characters.
    """

    tag: str
    locale: Locale
    content_tag: str
    sentence_separator: str = " "
    unspaced: str = ""

    @property
    def endonym(self) -> str:
        """The language's name in itself."""
        return self.locale.language_name or self.tag

    @property
    def catalog_name(self) -> str:
        """Folder of the language's messages under `translations/`, such as `zh_Hans`."""
        return str(self.locale)


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "de": Language("de", Locale("de"), "de"),
        "zh": Language("zh", Locale("zh", script="Hans"), "zh-Hans", "", unspaced="\u4e00-\u9fff"),
        "en": Language("en", Locale("en"), "en"),
    }
)
DEFAULT = "en"


def content_language(tag: str) -> str:
    """The Content-Language (and HTML `lang`) of an answer in the language `tag`; KeyError for another tag."""
    return LANGUAGES[tag].content_tag
