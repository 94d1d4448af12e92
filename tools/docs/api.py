"""Renders an OpenAPI document as Markdown: one page per tag, and one for the shared schemas."""

import json

PAGES = "api"
# Every operation has these; the index explains them once.
COMMON = {"400", "401", "403", "404", "405", "408", "413", "415", "500", "503"}
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
    "pattern": "pattern `{}`",
}
CONSTANTS = {"default": "default `{}`", "const": "always `{}`"}


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def value(constant):
    return constant if isinstance(constant, str) else json.dumps(constant)


def limits(schema, phrases):
    found = [phrase.format(cell(value(schema[name]))) for name, phrase in phrases.items() if name in schema]
    if "enum" in schema:
        found.append("one of " + ", ".join(f"`{cell(value(choice))}`" for choice in schema["enum"] if choice is not None))
    return found


def file_of(tag):
    """The page of a tag."""
    return tag["name"].replace(" ", "-") + ".md"


class Reference:
    def __init__(self, document):
        self.document = document
        self.schemas = document["components"]["schemas"]

    def pages(self):
        """(path, title, text) of every page; the index comes first."""
        tags = self.document["tags"]
        yield f"{PAGES}/index.md", "HTTP API", self.index(tags)
        for tag in tags:
            yield f"{PAGES}/{file_of(tag)}", tag["name"].capitalize(), self.tag(tag)
        yield f"{PAGES}/schemas.md", "Schemas", self.all_schemas()

    def operations(self, tag):
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if tag in operation.get("tags", []):
                    yield method.upper(), path, operation

    def index(self, tags):
        info = self.document["info"]
        rows = [
            f"| `{method} {path}` | [{cell(operation['summary'])}]({file_of(tag)}#{operation['operationId']}) |"
            for tag in tags
            for method, path, operation in self.operations(tag["name"])
        ]
        return "\n".join(
            [
                "# HTTP API",
                "",
                f"{info['description']} These pages are generated from the [OpenAPI document](../openapi.json) of version "
                f"{info['version']}; a running gateway serves it at `/openapi.json`.",
                "",
                "Send an API key with every request: `Authorization: Bearer <key>`. Each operation names the scope that its "
                "key needs. Errors are [problems](../problems.md); operations list only those with a meaning of their own.",
                "",
                "| operation | |",
                "|---|---|",
                *rows,
                "",
            ]
        )

    def tag(self, tag):
        parts = [f"# {tag['name'].capitalize()}", tag["description"]]
        for method, path, operation in self.operations(tag["name"]):
            parts += self.operation(method, path, operation)
        return "\n\n".join(parts) + "\n"

    def operation(self, method, path, operation):
        parts = [
            f"<a id=\"{operation['operationId']}\"></a>",
            f"## {operation['summary']}",
            f"```http\n{method} {path}\n```",
        ]
        if operation.get("description"):
            parts.append(operation["description"])
        scopes = [scope for need in operation.get("security", []) for scope in need.get("token", [])]
        parts.append("Scope: " + " or ".join(f"`{scope}`" for scope in scopes) + "." if scopes else "No key needed.")
        if operation.get("parameters"):
            rows = [self.parameter(parameter) for parameter in operation["parameters"]]
            parts.append("\n".join(["| parameter | in | type | meaning |", "|---|---|---|---|", *rows]))
        if "requestBody" in operation:
            parts.append("Body: " + self.content(operation["requestBody"]) + ".")
        rows = [
            f"| {status} | {cell(answer['description'])} | {self.content(answer)} |"
            for status, answer in operation["responses"].items()
            if status not in COMMON or status == "404" and "webhook" in answer["description"]
        ]
        parts.append("\n".join(["| response | meaning | body |", "|---|---|---|", *rows]))
        return parts

    def parameter(self, parameter):
        schema = parameter.get("schema", {})
        name = f"`{parameter['name']}`" + (" (required)" if parameter.get("required") else "")
        meaning = self.meaning(parameter.get("description") or schema.get("description", ""), schema)
        return f"| {name} | {parameter['in']} | {self.kind(schema)} | {meaning} |"

    def meaning(self, description, schema):
        # A description states the limits in words.
        extra = limits(schema, CONSTANTS if description else LIMITS | CONSTANTS)
        text = cell(description)
        if extra:
            text = (text.rstrip() + " " if text else "") + "(" + "; ".join(extra) + ")"
        return text

    def content(self, holder):
        """The schema of a request's or a response's body."""
        bodies = holder.get("content", {}).items()
        return " or ".join(self.kind(body["schema"]) if "schema" in body else f"`{media}`" for media, body in bodies)

    def kind(self, schema):
        """The type of a value, with a link if it has a name."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f"[{name}](schemas.md#{name.lower()})"
        for word, choice in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
            if word in schema:
                return choice.join(dict.fromkeys(self.kind(one) for one in schema[word]))
        if "enum" in schema or "const" in schema:
            return "text" if all(isinstance(one, str | None) for one in schema.get("enum", [])) else "value"
        kinds = schema.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return " or ".join(self.plain(kind, schema) for kind in kinds)

    def plain(self, kind, schema):
        if kind == "array":
            return f"list of {self.kind(schema.get('items', {}))}"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"map of {self.kind(schema['additionalProperties'])}"
        return {"string": schema.get("format", "text")}.get(kind, kind)

    def all_schemas(self):
        parts = ["# Schemas", "The JSON objects that requests and responses contain, in alphabetical order."]
        for name in sorted(self.schemas, key=str.lower):
            parts += self.schema(name, self.schemas[name])
        return "\n\n".join(parts) + "\n"

    def schema(self, name, schema):
        parts = [f"## {name}"]
        if schema.get("description"):
            parts.append(schema["description"])
        forms = [form for form in schema.get("oneOf", []) if "properties" in form]
        if forms:
            parts.append("Has one of these forms:")
            for number, form in enumerate(forms, 1):
                parts.append(f"**Form {number}.** {self.told_by(form, forms)}".rstrip())
                parts.append(self.table(self.fields(form)))
            return parts
        fields = self.fields(schema)
        if fields:
            parts.append(self.table(fields))
        else:
            text = self.meaning("", schema)
            parts.append(f"Type: {self.kind(schema)}" + (f" {text}" if text else "") + ".")
        return parts

    def told_by(self, form, forms):
        """How to tell a form from the others: the fields whose values differ, or those that it alone requires."""

        def choices(one, name):
            field = one["properties"].get(name, {})
            return field.get("enum") or [field["const"]] if "const" in field or "enum" in field else None

        for name in form["properties"]:
            own = choices(form, name)
            if own and any(choices(other, name) != own for other in forms):
                return f"`{name}` is " + " or ".join(f"`{value(choice)}`" for choice in own) + "."
        common = set.intersection(*(set(other.get("required", [])) for other in forms))
        own = [name for name in form.get("required", []) if name not in common]
        return "With " + " and ".join(f"`{name}`" for name in own) + "." if own else ""

    def table(self, rows):
        return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])

    def fields(self, schema):
        if "$ref" in schema:
            return self.fields(self.schemas[schema["$ref"].rsplit("/", 1)[1]])
        required = set(schema.get("required", []))
        rows = []
        for name, field in schema.get("properties", {}).items():
            if field == {"type": "null"}:
                continue
            label = f"`{name}`" + (" (required)" if name in required else "")
            rows.append(f"| {label} | {self.kind(field)} | {self.meaning(self.description(field), field)} |")
        for part in schema.get("allOf", []):
            rows += self.fields(part)
        return rows

    def description(self, field):
        """A field that may be null has its description inside."""
        inner = (one.get("description") for one in field.get("oneOf", []))
        return field.get("description") or next(filter(None, inner), "")
