"""Markdown tables, and the properties of resources in them."""

import re

from cloudformation import Call, text

# The words that join values.
JOINTS = re.compile(r"( if set| if not 0| if | unless | and | or | is set| is empty| is not 0|, otherwise )")


def code(words):
    return f"`{words}`" if words else ""


def cell(words):
    return words.replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(cell(words) for words in row)} |" for row in rows]


def lines_of(template, properties, prefix=""):
    """Each property on a line of its own, nested ones with a dotted name: `Name`: value."""
    for name, value in properties.items():
        match value:
            case dict():
                yield from lines_of(template, value, f"{prefix}{name}.")
            case [dict(), *_]:
                for number, part in enumerate(value, 1):
                    yield from lines_of(template, part, f"{prefix}{name}[{number}]." if len(value) > 1 else f"{prefix}{name}.")
            case [Call(name="If", argument=[_, dict(), _]) as only]:
                yield from lines_of(template, {name: only}, prefix)
            case Call(name="If", argument=[condition, dict() as then, otherwise]):
                when = value_text(template.condition(condition))
                yield from qualified(lines_of(template, {name: then}, prefix), f"if {when}")
                yield from qualified(lines_of(template, {name: otherwise}, prefix), f"unless {when}")
            case str():
                yield f"{code(prefix + name)}: {code(value)}"
            case _:
                words = text(template, value)
                if words is not None:
                    yield f"{code(prefix + name)}: {value_text(words)}"


def qualified(lines, when):
    """A line with a condition of its own needs no other."""
    return (line if " if " in line else f"{line} {when}" for line in lines)


def value_text(words):
    """Values in code style, the words between them not."""
    if words == "":
        return "empty"
    return "".join(part if number % 2 else code(part) for number, part in enumerate(JOINTS.split(words)))


def properties_of(template, resource, *hidden):
    shown = {name: value for name, value in resource.get("Properties", {}).items() if name not in hidden}
    found = list(lines_of(template, shown))
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        if policy in resource:
            found.append(f"{code(policy)}: {code(resource[policy])}")
    return found


def resources_table(template, resources, *hidden):
    """One row per resource; what all of them have in common is said once, above."""
    shown = {name: properties_of(template, resource, *hidden) for name, resource in resources.items()}
    common = [line for line in next(iter(shown.values())) if all(line in lines for lines in shown.values())]
    common = common if len(shown) > 1 else []
    rows = []
    for name, lines in shown.items():
        when = template.when(resources[name])
        only = [f"only if {value_text(when)}"] if when else []
        own = [line for line in lines if line not in common]
        rows.append((code(name), "<br>".join(only + own) or "–"))
    above = [f"All: {', '.join(common)}.", ""] if common else []
    return above + table(("resource", "properties"), rows)
