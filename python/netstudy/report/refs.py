"""Sentences in which every number is a reference to a cell or a formula.

`say` joins a template of plain words with references. The template must not contain a digit, so
that no number can be typed by hand. A reference knows the source of its value, and HTML shows this
source. The same sentence serves HTML, Markdown and the terminal.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup, escape

from netstudy.report.numbers import Quantity


@dataclass(frozen=True)
class Number:
    """A computed value, its printed text, and its source: metric, cell or formula."""

    value: float
    text: str
    source: str
    shown: Quantity | None = field(default=None, repr=False)
    """The quantity from which `text` was made; needed if a column uses another unit."""

    @classmethod
    def of(cls, value: float, shown: Quantity, source: str) -> Number:
        """A number without its unit, for a column whose heading has the unit."""
        return cls(value, str(shown), source, shown)

    def scaled(self, power: int) -> Number:
        """The same number in a unit that is larger by this power of ten; unchanged if `shown` is
        None."""
        return (
            self
            if self.shown is None
            else Number.of(self.value, self.shown.scaled(power), self.source)
        )

    def __str__(self) -> str:
        """The printed value."""
        return self.text

    def __html__(self) -> str:
        """The printed text, with the exact value and the source as attributes."""
        return Markup('<data value="{}" title="{}">{}</data>').format(
            repr(self.value), self.source, self.text
        )

    def without_source(self) -> str:
        """The HTML without the source, for a page that stores sources elsewhere. The exact value is
        shortened, but has enough digits for sorting."""
        return Markup(f'<data value="{self.value:.7g}">{escape(self.text)}</data>')


_PLURAL_VERB = re.compile("(?<=s)es$|(?<=ch)es$|s$")
"""The ending that a verb loses after a plural subject: bypasses, touches, takes."""
SHORT = 30
"""Single words up to this length are never broken between lines."""


@dataclass(frozen=True)
class Name:
    """A word from the study, such as a factor, a level, a host or a file. It may contain digits."""

    text: str
    code: bool = False
    """Whether the text is printed as code, such as a command or a file name."""
    several: bool = False
    """Whether the name needs a verb in the plural: "4 servers are"."""

    def __str__(self) -> str:
        """The word."""
        return self.text

    def __html__(self) -> str:
        """The word, escaped; a short one stays on one line."""
        if self.code:
            return Markup("<code>{}</code>").format(self.text)
        kind = "name" if len(self.text) <= SHORT and " " not in self.text else "text"
        return Markup('<span class="{}">{}</span>').format(kind, self.text)

    def agreeing(self, verb: str) -> str:
        """The verb in the form that this name needs as a subject: `verb` itself, or its plural."""
        if not self.several:
            return verb
        return {"is": "are", "has": "have"}.get(verb) or _PLURAL_VERB.sub("", verb)


@dataclass(frozen=True)
class Sentence:
    """A sentence as a sequence of words and references."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        """Plain text."""
        return "".join(str(part) for part in self.parts)

    def __html__(self) -> str:
        """HTML with the references marked."""
        return Markup("").join(escape(part) for part in self.parts)

    def numbers(self) -> Iterator[Number]:
        """All numbers in the sentence."""
        for part in self.parts:
            if isinstance(part, Number):
                yield part
            elif isinstance(part, Sentence):
                yield from part.numbers()

    def capitalised(self) -> Sentence:
        """The sentence with a capital first letter. A name that is printed as code stays as it
        is."""
        if not self.parts:
            return self
        first, *rest = self.parts
        if not str(first).strip():  # an empty phrase, such as a place without a factor along x
            return Sentence(tuple(rest)).capitalised()
        if isinstance(first, str):
            first = f"{first[:1].upper()}{first[1:]}"
        elif isinstance(first, Sentence):
            first = first.capitalised()
        elif isinstance(first, Name) and not first.code:
            first = replace(first, text=f"{first.text[:1].upper()}{first.text[1:]}")
        return Sentence((first, *rest))

    def without_asides(self) -> Sentence:
        """The sentence without its asides, for a short form."""
        return Sentence(
            tuple(
                part.without_asides() if isinstance(part, Sentence) else part
                for part in self.parts
                if not isinstance(part, Aside)
            )
        )


@dataclass(frozen=True)
class Aside(Sentence):
    """A part of a sentence that its short form leaves out, such as an interval in brackets."""


Part = str | Number | Name | Sentence


def say(template: str, **references: Number | Name | Sentence) -> Sentence:
    """A sentence from a template such as "{a} takes {time}"; the template contains no digit.

    `{a:takes}` inserts only the verb, in the form that agrees with the name `a`: "takes" or "take".
    """
    parts: list[Part] = []
    for words, name, verb, _ in string.Formatter().parse(template):
        assert not any(sign.isdigit() for sign in words), f"a number is typed into: {words!r}"
        if words:
            parts.append(words)
        if name is not None:
            reference = references[name]
            if verb:
                assert isinstance(reference, Name), f"only a name has a verb: {template!r}"
                parts.append(reference.agreeing(verb))
            else:
                parts.append(reference)
    return Sentence(tuple(parts))


def aside(template: str, **references: Number | Name | Sentence) -> Aside:
    """Like `say`, but for a part of a sentence that the short form leaves out."""
    return Aside(say(template, **references).parts)


def join(
    items: Sequence[Number | Name | Sentence], last: str = "and", between: str = ", "
) -> Sentence:
    """Joins references: a, b and c. Without a `last` word, the last item follows as the others
    do."""
    parts: list[Part] = []
    for index, item in enumerate(items):
        if index:
            parts.append(f" {last} " if last and index == len(items) - 1 else between)
        parts.append(item)
    return Sentence(tuple(parts))
