"""The statements of IAM and resource policies as rows: action, resource, condition."""

from cloudformation import Call, text
from tables import code, table, value_text

HEAD = ("actions", "resources", "condition")


def listed(template, value):
    values = value if isinstance(value, list) else [value]
    return "<br>".join(value_text(text(template, part)) for part in values)


def conditions(template, statement):
    found = []
    for operator, keys in statement.get("Condition", {}).items():
        for key, values in keys.items():
            values = values if isinstance(values, list) else [values]
            allowed = ", ".join(code(text(template, value)) for value in values)
            found.append(f"{code(operator)} {code(key)}: {allowed}")
    return "<br>".join(found)


def row(template, statement, when=""):
    only = f"only if {value_text(when)}" if when else ""
    limits = [part for part in (only, conditions(template, statement)) if part]
    return listed(template, statement["Action"]), listed(template, statement["Resource"]), "<br>".join(limits)


def statements(resource):
    return resource["Properties"]["PolicyDocument"]["Statement"]


def role_names(policy):
    """The roles that a policy is attached to, some of them only under a condition."""
    for role in policy["Properties"]["Roles"]:
        match role:
            case Call(name="Ref", argument=name) | Call(name="If", argument=[_, Call(name="Ref", argument=name), _]):
                yield name


def role_table(template, name):
    """Everything that a role allows: its own statements, then those of policies attached to it."""
    role = template.resources[name]["Properties"]
    rows = [row(template, statement) for policy in role["Policies"] for statement in policy["PolicyDocument"]["Statement"]]
    for policy in template.of_type("AWS::IAM::Policy").values():
        if name in role_names(policy):
            rows += [row(template, statement, template.when(policy)) for statement in statements(policy)]
    lines = table(HEAD, rows)
    managed = role.get("ManagedPolicyArns")
    return lines + (["", f"Managed policy: {value_text(text(template, managed))}."] if managed else [])


def resource_policies(template, *kinds):
    rows = []
    for name, policy in template.of_type(*kinds).items():
        for statement in statements(policy):
            who = code(text(template, statement["Principal"]))
            rows.append((code(name), statement["Effect"].lower(), who, *row(template, statement, template.when(policy))))
    return table(("policy", "effect", "principal", *HEAD), rows)
