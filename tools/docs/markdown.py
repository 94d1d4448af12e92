"""Reads Markdown as far as links and headings go."""

import re

FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)", re.M | re.S)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
# The text may contain code, an image or one pair of brackets, and may be wrapped.
LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\[\]]*\](?:\([^()]*\))?)*\]\()([^()\s]*(?:\([^()\s]*\))?)((?:\s+\"[^\"]*\")?\))")
DEFINITION = re.compile(r"^( {0,3}\[[^\]]+\]:\s+)(\S+)()", re.M)
ATTRIBUTE = re.compile(r"(<(?:a|img|source|video)\b[^>]*?\s(?:href|src|srcset)=\")([^\"]*)(\")")
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$", re.M)
ANCHOR = re.compile(r"<[a-z]+\b[^>]*?\s(?:id|name)=\"([^\"]+)\"")


def blank(text, *patterns):
    """Replaces what matches with spaces, so that positions stay the same."""
    for pattern in patterns:
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    return text


def links(text):
    """Every link and image as (start, end, target), where start and end enclose the target."""
    prose = blank(text, FENCE, COMMENT)
    # Code inside the text of a link stays as long as it is; only its brackets must not be read.
    prose = CODE.sub(lambda found: re.sub(r"[^\n]", "x", found.group()), prose)
    found = [match for pattern in (LINK, DEFINITION, ATTRIBUTE) for match in pattern.finditer(prose)]
    inner = [match for outer in LINK.finditer(prose) for match in LINK.finditer(prose, outer.start() + 1, outer.start(2))]
    spans = {match.span(2) for match in found + inner}
    return [(start, end, text[start:end]) for start, end in sorted(spans)]


def replace_links(text, change):
    """The text with each target replaced by change(target)."""
    for start, end, target in reversed(links(text)):
        text = text[:start] + change(target) + text[end:]
    return text


def slug(heading):
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"<[^>]+>", "", plain).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def anchors(text):
    prose = blank(text, FENCE, COMMENT)
    seen, found = {}, set(ANCHOR.findall(prose))
    for _, heading in HEADING.findall(prose):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def title(text):
    found = HEADING.search(blank(text, FENCE, COMMENT))
    return found.group(2) if found else ""


def first_paragraph(text):
    """The first paragraph of prose after the title, on one line and without markup."""
    blocks = re.split(r"\n\s*\n", blank(text, FENCE, COMMENT))
    prose = (block.strip() for block in blocks)
    first = next((block for block in prose if block and block[0] not in "#|!<-[>"), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return plain.replace("**", "")
