"""JSON with comments and trailing commas."""

import pytest

from app.cloudflare import jsonc


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('// one\n{"a": 1, /* two */ "b": [1, 2,],\n}', {"a": 1, "b": [1, 2]}),
        ('{"url": "http://x/*y*/", "c": ",]", "d": "a\\"//b",}', {"url": "http://x/*y*/", "c": ",]", "d": 'a"//b'}),
        ("\ufeff[1, // last\n]", [1]),
        ("[1,2/**/]", [1, 2]),
    ],
)
def test_it_is_read_as_wrangler_reads_it(text: str, value: object) -> None:
    assert jsonc.parse(text) == value


def test_a_fault_is_told_by_its_line() -> None:
    with pytest.raises(ValueError, match="line 3"):
        jsonc.parse("/* a\nb */ {\n1}")
