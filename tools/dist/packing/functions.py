"""The Lambda functions as zip archives, one per function of the template and named after it."""

import re

from packing.bytes import zipped
from packing.release import text
from packing.target import LAMBDA, processor

FUNCTION = re.compile(r"^  (\w+)Function:\n    Type: AWS::Serverless::Function$", re.MULTILINE)


def names():
    return FUNCTION.findall(text("template.yaml").decode())


def zips(release, built):
    """`built` has one directory per function, each with the program `bootstrap`, as infra/build/package places it."""
    for name in names():
        path = built / name / "bootstrap"
        program = path.read_bytes()
        architecture = LAMBDA.get(processor(program))
        if not architecture:
            raise SystemExit(f"dist: {path} is not a program that Lambda runs")
        yield f"postrider-{release.version}-lambda-{architecture}-{name}Function.zip", zipped("bootstrap", program, 0o755)
