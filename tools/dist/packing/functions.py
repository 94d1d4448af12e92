"""The Lambda functions as zip archives, one per function of the template and named after it."""

import re

from packing.bytes import zipped
from packing.release import text

FUNCTION = re.compile(r"^  (\w+)Function:\n    Type: AWS::Serverless::Function$", re.MULTILINE)


def names():
    return FUNCTION.findall(text("template.yaml").decode())


def zips(release, built):
    """`built` has one directory per function, each with the program `bootstrap`, as infra/build/package places it."""
    for name in names():
        program = (built / name / "bootstrap").read_bytes()
        yield f"postrider-{release.version}-lambda-arm64-{name}Function.zip", zipped("bootstrap", program, 0o755)
