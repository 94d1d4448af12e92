"""Calls AWS's API through boto3: a JSON line in, {"call", "service", "operation", "parameters"}, a JSON line out."""

import functools
import json
import sys

import boto3
import botocore.response


@functools.cache
def client(service):
    return boto3.client(service)


def plain(value):
    """Converts values that JSON does not have: the body of an invocation's response is read, times become text."""
    return value.read().decode() if isinstance(value, botocore.response.StreamingBody) else str(value)


def answer(call):
    try:
        operation = getattr(client(call["service"]), call["operation"])
        return {"call": call["call"], "ok": operation(**call["parameters"])}
    except Exception as error:  # the test decides what an error means
        return {"call": call["call"], "error": str(error)}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line)), default=plain), flush=True)
