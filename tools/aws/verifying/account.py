"""Calls to AWS through the `aws` tool, and what the stack is made of."""

import json
import os
import re
import subprocess
from datetime import datetime, timezone

ERROR = re.compile(r"An error occurred \((\w+)\)")


class AwsError(Exception):
    def __init__(self, call, said):
        found = ERROR.search(said)
        self.code = found[1] if found else ""
        super().__init__(f"aws {call}: {said.strip().splitlines()[-1] if said.strip() else 'failed'}")


class Account:
    def __init__(self, tool, options, environment=None):
        self.tool, self.options, self.environment = tool, options, environment

    def call(self, service, operation, **arguments):
        """One call with the arguments of the API; returns what AWS answers."""
        command = [self.tool, service, operation, "--output", "json", "--cli-input-json", json.dumps(arguments), *self.options]
        ended = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if ended.returncode != 0:
            raise AwsError(f"{service} {operation}", ended.stderr)
        return json.loads(ended.stdout) if ended.stdout.strip() else {}

    def acting_as(self, credentials, region):
        """The same account with the credentials of a role."""
        environment = {name: value for name, value in os.environ.items() if name not in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")}
        environment |= {
            "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
            "AWS_SESSION_TOKEN": credentials["SessionToken"],
            "AWS_DEFAULT_REGION": region,
            "AWS_REGION": region,
        }
        endpoint = [option for pair in zip(self.options, self.options[1:]) if pair[0] == "--endpoint-url" for option in pair]
        return Account(self.tool, endpoint, environment)

    def metric_sum(self, namespace, name, since, **dimensions):
        """The sum of a CloudWatch metric since a time."""
        points = self.call(
            "cloudwatch", "get-metric-statistics", Namespace=namespace, MetricName=name, StartTime=since.isoformat(),
            EndTime=now().isoformat(), Period=60, Statistics=["Sum"],
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        )
        return sum(point["Sum"] for point in points["Datapoints"])


class Stack:
    def __init__(self, account, name):
        self.account, self.name = account, name
        found = account.call("cloudformation", "describe-stacks", StackName=name)["Stacks"][0]
        self.id = found["StackId"]
        self.region, self.number = self.id.split(":")[3:5]
        self.outputs = {it["OutputKey"]: it["OutputValue"] for it in found.get("Outputs", [])}
        self.parameters = {it["ParameterKey"]: it["ParameterValue"] for it in found.get("Parameters", [])}
        self.resources = self._resources(name)

    def _resources(self, name):
        found = self.account.call("cloudformation", "list-stack-resources", StackName=name)["StackResourceSummaries"]
        return {it["LogicalResourceId"]: it["PhysicalResourceId"] for it in found}

    def alarm(self, name):
        """The full name of an alarm, which a nested stack has created."""
        return self._resources(self.resources["Alarms"])[name]

    def key_arn(self):
        given = self.parameters.get("KmsKeyArn")
        return given or f"arn:aws:kms:{self.region}:{self.number}:key/{self.resources['EnvelopeKey']}"


def now():
    return datetime.now(timezone.utc).replace(microsecond=0)
