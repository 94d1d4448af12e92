"""The list of checks, also in docs/operations.md between two marks."""

DOCUMENT = "docs/operations.md"
BEGIN, END = "<!-- verify:checks -->", "<!-- /verify -->"


def as_table(checks):
    rows = ["| check | what it shows | what it touches | up to |", "|---|---|---|---|"]
    for check in checks:
        cost = f"${check.dollars:.2f}, " if check.dollars else ""
        rows.append(f"| `{check.name}` | {check.shows} | {check.touches} | {cost}{check.minutes} min |")
    return "\n".join(rows)


def quoted(text, checks):
    """The document with the current list."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"verify: {DOCUMENT} has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{as_table(checks)}\n\n{END}{after}"


def in_document(root, checks):
    path = root / DOCUMENT
    path.write_text(quoted(path.read_text(), checks))


def out_of_date(root, checks):
    text = (root / DOCUMENT).read_text()
    return quoted(text, checks) != text
