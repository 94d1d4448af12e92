"""The page docs/aws-resources.md, section by section."""

from cloudformation import Call, text
from policies import resource_policies, role_table
from tables import code, lines_of, properties_of, resources_table, table, value_text

# Sections of resources that need no more than a table. Together with the sections below, they must cover every type.
PLAIN = [
    ("Queues", ["AWS::SQS::Queue"]),
    ("Topics and subscriptions", ["AWS::SNS::Topic", "AWS::SNS::Subscription"]),
    ("Buckets", ["AWS::S3::Bucket"]),
    ("Key and secret", ["AWS::KMS::Key", "AWS::SecretsManager::Secret"]),
    ("HTTP API", [f"AWS::ApiGatewayV2::{kind}" for kind in ("Api", "Stage", "Route", "Integration", "DomainName", "ApiMapping")] + ["AWS::Route53::RecordSetGroup"]),
    ("EventBridge", ["AWS::Events::Rule"]),
    ("Log groups", ["AWS::Logs::LogGroup"]),
]
RESOURCE_POLICIES = ["AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy", "AWS::S3::BucketPolicy"]
ELSEWHERE = {
    "AWS::Serverless::Function", "AWS::IAM::Role", "AWS::IAM::Policy", "AWS::DynamoDB::Table", "AWS::Lambda::Permission",
    "AWS::CloudFormation::Stack",
}

INTRODUCTION = """# Resources and permissions on AWS

This page lists what [`template.yaml`](../template.yaml) creates, for teams that review it or write a module of their own, such
as one for Terraform. `tools/aws/resources` generates it from the template, and `make template` fails if it is out of date. [The
stack on AWS](aws-architecture.md) explains what the parts are for.

How to read it:

- Names such as `HintQueue` are those in the template. In a permission, the name stands for the resource's ARN.
- `<stack>`, `<account>` and `<region>` stand for the stack's name, the account and the region. The functions find each other by
  environment variables, so names are free, except that alarms and dashboard expect the functions' names.
- Names such as `KmsKeyArn` that are not resources are [parameters](#parameters).
- After a [restore](operations.md#restore), the restored tables and their stream take the place of `WebhookDeliveries` and
  `WebhookConfigs` everywhere.

`postrider aws` works with stacks of CloudFormation: it reads the [outputs](#outputs) and names of resources from the stack.

## Code

Each release has one zip per function, for arm64, with the program `bootstrap`. `SHA256SUMS` has their checksums; see
[Verify a download](install.md#verify-a-download). [Build a release](install.md#build-a-release-yourself) makes the same files."""


def page(template, alarms):
    parts = [[INTRODUCTION], zips(template), parameters(template), functions(template), tables_section(template)]
    parts += [[f"## {title}", "", *resources_table(template, template.of_type(*kinds))] for title, kinds in PLAIN]
    parts += [resource_policies_section(template), alarms_section(alarms), outputs(template)]
    missing = {resource["Type"] for resource in template.resources.values()} - covered()
    if missing:
        raise SystemExit(f"resources: no section for {', '.join(sorted(missing))}: add one to tools/aws/page.py")
    return "\n".join("\n".join(part) + "\n" for part in parts)


def covered():
    return {kind for _, kinds in PLAIN for kind in kinds} | set(RESOURCE_POLICIES) | ELSEWHERE


def function_names(template):
    return [name.removesuffix("Function") for name in template.of_type("AWS::Serverless::Function")]


def zips(template):
    rows = [(name.lower(), code(f"postrider-<version>-lambda-arm64-{name}Function.zip")) for name in function_names(template)]
    return table(("function", "zip"), rows)


def parameters(template):
    rows = []
    for name, parameter in template.parameters.items():
        default = parameter["Default"]
        rows.append((code(name), code(str(default)) if default != "" else "empty", " ".join(parameter["Description"].split())))
    return ["## Parameters", "", *table(("parameter", "default", "meaning"), rows)]


def functions(template):
    common = template.globals["Function"]
    shared = [line for line in lines_of(template, {key: value for key, value in common.items() if key not in ("CodeUri", "Environment")})]
    lines = ["## Functions", "", "All functions, unless one says otherwise:", "", *bullets(shared), ""]
    lines += ["Environment variables of all functions:", "", *variables(template, common), ""]
    lines += ["Each has a role that only `lambda.amazonaws.com` may assume.", ""]
    for name in function_names(template):
        lines += [*function(template, name), ""]
    return lines[:-1]


def function(template, name):
    resource = template.resources[f"{name}Function"]
    properties = resource["Properties"]
    when = template.when(resource)
    lines = [f"### {name.lower()}", ""]
    lines += [f"Only if {value_text(when)}.", ""] if when else []
    lines += bullets(properties_of(template, resource, "Role", "Environment", "Events"))
    for event, settings in properties.get("Events", {}).items():
        lines += ["", *trigger(template, event, settings)]
    lines += ["", *invokers(template, f"{name}Function")]
    if "Environment" in properties:
        lines += ["Environment variables:", "", *variables(template, properties), ""]
    role = properties["Role"].argument.removesuffix(".Arn")
    return lines + ["Permissions:", "", *role_table(template, role)]


def bullets(lines):
    return [f"- {line}" for line in lines]


def variables(template, properties):
    values = properties["Environment"]["Variables"].items()
    return table(("variable", "value"), [(code(name), value_text(text(template, value))) for name, value in values])


def trigger(template, name, event):
    settings = {key: value for key, value in event["Properties"].items() if key != "FilterCriteria"}
    kind = {
        "SQS": "an event source mapping of a queue",
        "DynamoDB": "an event source mapping of a stream",
        "ScheduleV2": "a schedule of EventBridge Scheduler, with a role that may invoke this function and nothing else",
    }[event["Type"]]
    lines = [f"Trigger `{name}`, {kind}:", ""]
    lines += bullets(lines_of(template, settings))
    filters = event["Properties"].get("FilterCriteria", {}).get("Filters", [])
    if filters:
        lines += ["", "Its filters, any of which lets a record pass:", "", "```json", *(it["Pattern"].strip() for it in filters), "```"]
    return lines


def invokers(template, function):
    lines = []
    for permission in template.of_type("AWS::Lambda::Permission").values():
        properties = permission["Properties"]
        if properties["FunctionName"] == Call("Ref", function):
            who, source = properties["Principal"], text(template, properties["SourceArn"])
            lines += [f"May be invoked by `{who}` for {value_text(source)}.", ""]
    return lines


def tables_section(template):
    lines = ["## Tables", ""]
    for name, resource in template.of_type("AWS::DynamoDB::Table").items():
        properties = resource["Properties"]
        lines += [f"### {name}", "", *bullets(properties_of(template, resource, "AttributeDefinitions", "GlobalSecondaryIndexes", "KeySchema")), ""]
        types = {it["AttributeName"]: it["AttributeType"] for it in properties["AttributeDefinitions"]}
        rows = [("the table", *keys(properties["KeySchema"], types), "–")]
        indexes = properties.get("GlobalSecondaryIndexes", [])
        rows += [(code(it["IndexName"]), *keys(it["KeySchema"], types), code(it["Projection"]["ProjectionType"])) for it in indexes]
        lines += [*table(("", "partition key", "sort key", "projection"), rows), ""]
        if indexes:
            same = [f"`{setting}`" for setting in ("OnDemandThroughput", "WarmThroughput") if all(it[setting] == properties[setting] for it in indexes)]
            lines += [f"All indexes have the table's {' and '.join(same)}.", ""]
    return lines[:-1]


def keys(schema, types):
    return [f"{code(it['AttributeName'])} ({types[it['AttributeName']]})" for it in schema]


def resource_policies_section(template):
    return ["## Resource policies", "", *resource_policies(template, *RESOURCE_POLICIES)]


def alarms_section(alarms):
    found = alarms.of_type("AWS::CloudWatch::Alarm")
    rows = []
    for name, alarm in found.items():
        its = alarm["Properties"]
        only = f"only if {value_text(alarms.when(alarm))}: " if "Condition" in alarm else ""
        of = ", ".join(f"{it['Name']} {code(text(alarms, it['Value']))}" for it in its["Dimensions"])
        rows.append((code(name), f"{only}{code(its['Namespace'] + ' ' + its['MetricName'])} of {of}", breach(alarms, its), its["AlarmDescription"]))
    always = sum("Condition" not in alarm for alarm in found.values())
    head = [
        "## Alarms", "",
        f"`infra/alarms.yaml` has {always} alarms, and {len(found) - always} more with `EventBusName`. Both changes, to alarm and to OK, are sent to `AlarmTopic`.",
        "[Alarms](operations.md#alarms) says what to do about each. `infra/dashboard.yaml` has the dashboard.", "",
        "Thresholds that are parameters of the nested template:", "",
        *bullets(f"{code(name)}: {it['Default']}. {it['Description']}." for name, it in alarms.parameters.items() if name not in alarms.given), "",
    ]
    return head + table(("alarm", "metric", "goes off", "description"), rows)


def breach(alarms, its):
    sign = {"GreaterThanThreshold": ">", "LessThanThreshold": "<"}[its["ComparisonOperator"]]
    statistic = its.get("Statistic") or its["ExtendedStatistic"]
    periods = its["EvaluationPeriods"]
    most = its.get("DatapointsToAlarm", periods)
    often = f"in {most} of {periods} periods" if most != periods else f"in {periods} periods" if periods > 1 else "in one period"
    missing = ", or if data is missing" if its["TreatMissingData"] == "breaching" else ""
    return f"{statistic} {sign} {value_text(text(alarms, its['Threshold']))} {often} of {its['Period']} s{missing}"


def outputs(template):
    rows = [(code(name), output["Description"]) for name, output in template.outputs.items()]
    return ["## Outputs", "", *table(("output", "meaning"), rows)]
