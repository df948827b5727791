"""A number cannot be typed into a sentence, and says in HTML where it comes from."""

from __future__ import annotations

import pytest
from markupsafe import escape

from netstudy.documents.problems import listed
from netstudy.report.numbers import counted, number_text, p_text, spans
from netstudy.report.refs import Name, Number, join, say

HALF = Number(0.49999, "0.5", "a ÷ b")


def test_a_digit_in_a_template_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="typed"):
        say("The ratio is 0.5.")


def test_a_number_carries_its_exact_value_and_its_source() -> None:
    sentence = say("The ratio is {x}.", x=HALF)
    assert str(sentence) == "The ratio is 0.5."
    assert sentence.__html__() == ('The ratio is <data value="0.49999" title="a ÷ b">0.5</data>.')


def test_words_of_a_study_are_escaped() -> None:
    html = say("{x} & co", x=Name("<b>10 GbE</b>")).__html__()
    assert html == '<span class="text">&lt;b&gt;10 GbE&lt;/b&gt;</span> &amp; co'
    assert escape(Number(1, "1", 'a "quote"')) == (
        '<data value="1" title="a &#34;quote&#34;">1</data>'
    )


def test_a_sentence_knows_its_numbers_however_deep() -> None:
    inner = say("at {x}", x=HALF)
    assert list(say("{a}, {b}", a=inner, b=HALF).numbers()) == [HALF, HALF]


def test_lists_read_as_english() -> None:
    a, b, c = Name("a"), Name("b"), Name("c")
    assert str(join([a])) == "a"
    assert str(join([a, b, c])) == "a, b and c"
    assert listed(["a", "b", "c"], last="or") == "a, b or c"
    assert listed([]) == ""


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (9044.0, 1, "9,044.0"),
        (0, 1, "0"),
        (0.04, 1, "0.04"),
        (0.0004, 1, "0.0004"),
        (-0.03, 1, "−0.03"),
        (1e-9, 1, "0.0000"),
        (-1e-9, 1, "0.0000"),
        (-5e-17, 3, "0"),
        (-12.34, 1, "−12.3"),
    ],
)
def test_a_small_value_never_looks_like_zero(value: float, decimals: int, text: str) -> None:
    assert number_text(value, decimals) == text


def test_p_values_have_a_lower_bound() -> None:
    assert p_text(0.0004) == "<0.001"
    assert p_text(0.049) == "0.049"


def test_a_verb_agrees_with_its_name() -> None:
    one, several = Name("1 server"), Name("4 servers", several=True)
    template = "{a} {a:is} slow, {a:has} losses, {a:falls} behind, {a:touches} and {a:bypasses} it"
    said = "1 server is slow, has losses, falls behind, touches and bypasses it"
    assert str(say(template, a=one)) == said
    said = "4 servers are slow, have losses, fall behind, touch and bypass it"
    assert str(say(template, a=several)) == said


def test_levels_are_counted_in_words_that_fit_the_factor() -> None:
    assert counted("servers", "23") == "23\u00a0servers"
    assert counted("servers", "1") == "1\u00a0server"
    assert counted("rate", "600") == "rate\u00a0600"


def test_levels_are_spanned_over_those_that_exist() -> None:
    all_levels = (1, 2, 4, 8, 16, 23)
    assert spans([1, 4, 8, 16], all_levels) == ["1", "4 to 16"]
    assert spans([2, 4], all_levels) == ["2", "4"]
    assert listed(spans([1, 4, 8], [1, 2, 4, 8, 9])) == "1, 4 and 8"
    assert spans([], all_levels) == []
