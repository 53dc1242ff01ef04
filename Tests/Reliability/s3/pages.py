"""What docs/buckets.md tells people to paste, for the tests that hold it."""

import os
import re

from service import HERE

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "docs", "buckets.md")


def block(kind, words):
    """The code block of a kind that has those words; there must be one."""
    with open(PAGE, encoding="utf-8") as file:
        found = [text for text in re.findall(r"(?s)```%s\n(.*?)```" % kind, file.read()) if words in text]
    if len(found) != 1:
        raise SystemExit("docs/buckets.md has %d blocks of %s with %r, not one" % (len(found), kind, words))
    return found[0]
