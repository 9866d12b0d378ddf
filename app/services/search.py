"""What somebody typed to find tickets, as the index of words takes it.

Found is a ticket whose title and body hold, taken together, a word that begins so for every word typed, whatever their
order, case and accents. A word is what stands between spaces; one with punctuation in it ("e-mail") is its parts, one
after the other. Nothing typed is syntax.
"""

from sqlalchemy import ColumnElement, bindparam

from app.domain import Invalid
from db.schema import WORDS

WORDS_MAX = 16  # each costs a look into the index

MATCHES: ColumnElement[bool] = WORDS.c.ticket_words.op("MATCH", is_comparison=True)(bindparam("text"))


def expression(text: str) -> str:
    """Raises Invalid when it names too many words."""
    words = dict.fromkeys(text.split())
    if len(words) > WORDS_MAX:
        raise Invalid(
            f"text names {len(words)} words; at most {WORDS_MAX} are looked for. Nothing was executed. Name fewer."
        )
    return " ".join('"{}"*'.format(word.replace('"', '""')) for word in words)
