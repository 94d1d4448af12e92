"""The Lambda functions as zip archives, one per function of the template and named after it."""

import re
import sys

from packing.bytes import zipped
from packing.release import text
from packing.target import LAMBDA, processor

# A function on arm64, which is what is deployed, stays smaller: a large zip is a slow first start.
ZIP_LIMIT = 6_000_000
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
        packed = zipped("bootstrap", program, 0o755)
        if architecture == "arm64" and len(packed) >= ZIP_LIMIT:
            print(f"dist: the zip of {name} has {len(packed) / 1e6:.2f} MB, the limit is {ZIP_LIMIT / 1e6:.0f}", file=sys.stderr)
        yield f"postrider-{release.version}-lambda-{architecture}-{name}Function.zip", packed
