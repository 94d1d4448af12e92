"""Reads a CloudFormation template and writes its values as plain text."""

import re

import yaml

NO_VALUE = "AWS::NoValue"
PSEUDO = {
    "AWS::StackName": "<stack>",
    "AWS::Region": "<region>",
    "AWS::AccountId": "<account>",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}
# `postrider aws restore` sets the parameters of these conditions; a page about the template names the stack's own tables.
RESTORED = {"RestoredDeliveries", "RestoredStream", "RestoredConfigs"}


class Call:
    """An intrinsic function, such as !Ref or !If, and its argument."""

    def __init__(self, name, argument):
        self.name, self.argument = name, argument

    def __eq__(self, other):
        return isinstance(other, Call) and (self.name, self.argument) == (other.name, other.argument)

    @property
    def is_no_value(self):
        return self.name == "Ref" and self.argument == NO_VALUE


class Loader(yaml.SafeLoader):
    """YAML with the short forms of CloudFormation's functions."""


def construct(loader, suffix, node):
    match node:
        case yaml.ScalarNode():
            return Call(suffix, loader.construct_scalar(node))
        case yaml.SequenceNode():
            return Call(suffix, loader.construct_sequence(node, deep=True))
        case _:
            return Call(suffix, loader.construct_mapping(node, deep=True))


Loader.add_multi_constructor("!", construct)
# `Version: 2012-10-17` without quotes, and `yes`, would otherwise be read as a date and a boolean.
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in Loader.yaml_implicit_resolvers.items()
}


class Template:
    def __init__(self, path, parent=None, given=None):
        """A nested template has a parent, which gives it the values of parameters."""
        self.parent, self.given = parent, given or {}
        content = yaml.load(path.read_text(), Loader)
        self.parameters = content.get("Parameters", {})
        self.conditions = content.get("Conditions", {})
        self.globals = content.get("Globals", {})
        self.resources = content["Resources"]
        self.outputs = content.get("Outputs", {})

    def of_type(self, *kinds):
        return {name: resource for name, resource in self.resources.items() if resource["Type"] in kinds}

    def when(self, resource):
        """When a resource exists; empty if it always does."""
        return self.condition(resource["Condition"]) if "Condition" in resource else ""

    def condition(self, name):
        return self._stated(self.conditions[name])

    def _stated(self, stated):
        match stated.name, stated.argument:
            case "Not", [Call(name="Equals", argument=[Call(name="Ref", argument=name), ""])] if name in self.given:
                return self.parent.condition(self.given[name].argument[0])
            case "Not", [Call(name="Equals", argument=[value, "" | 0 as empty])]:
                return f"{text(self, value)} is {'not 0' if empty == 0 else 'set'}"
            case "Equals", [value, ""]:
                return f"{text(self, value)} is empty"
            case "And", parts:
                return " and ".join(self._stated(part) for part in parts)
            case "Or", parts:
                return " or ".join(self._stated(part) for part in parts)
            case "Condition", name:
                return self.condition(name)
        raise ValueError(f"a condition of an unknown form: {stated.name}")


def text(template, value):
    """A value in one line; None if it is left out."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case Call():
            return called(template, value)
        case list():
            parts = (text(template, part) for part in value)
            return ", ".join(part for part in parts if part is not None)
        case dict():
            parts = ((key, text(template, part)) for key, part in value.items())
            return "; ".join(f"{key}: {part}" for key, part in parts if part is not None)
    raise TypeError(f"a value of an unknown type: {type(value)}")


def called(template, call):
    match call.name, call.argument:
        case "Ref", name if name in template.given:
            return given(template.parent, template.given[name])
        case "Ref", name:
            return None if name == NO_VALUE else PSEUDO.get(name, name)
        case "GetAtt", name:
            return attribute(name)
        case "Sub", str(pattern):
            return substituted(template, pattern, {})
        case "Sub", [pattern, values]:
            return substituted(template, pattern, values)
        case "If", [condition, then, otherwise]:
            return chosen(template, condition, then, otherwise)
        case "Split", [_, value]:
            return text(template, value)
        case "Select", [0, value]:
            return text(template, value)
        case "Select", [1, Call(name="Split", argument=["@", value])]:
            return f"<domain of {text(template, value)}>"
        case "Select", [1, Call(name="Split", argument=["/", value])]:
            return f"<name in {text(template, value)}>"
    raise ValueError(f"a call of an unknown form: {call.name}")


def given(parent, value):
    """What a parent gives to a nested template, if it gives anything."""
    match value:
        case Call(name="If", argument=[_, then, ""]):
            return text(parent, then)
        case _:
            return text(parent, value)


def attribute(name):
    resource, _, which = name.partition(".")
    match which:
        case "Arn" | "Id" | "QueueName":
            return resource
        case "StreamArn":
            return f"stream of {resource}"
        case _:
            return name


def substituted(template, pattern, values):
    def value(found):
        name = found[1]
        if name in values:
            return text(template, values[name])
        if name in template.given:
            return given(template.parent, template.given[name])
        return attribute(name) if "." in name else PSEUDO.get(name, f"<{name}>" if name in template.parameters else name)

    return re.sub(r"\$\{([^}]+)\}", value, pattern)


def chosen(template, condition, then, otherwise):
    if condition in RESTORED:
        return text(template, otherwise)
    when, first, second = template.condition(condition), text(template, then), text(template, otherwise)
    # `KmsKeyArn` if set, rather than: `KmsKeyArn` if `KmsKeyArn` is set.
    when = when.removeprefix(f"{first} is ")
    if second is None:
        return f"{first} if {when}"
    if first is None:
        return f"{second} unless {when}"
    return f"{first} if {when}, otherwise {second}"
