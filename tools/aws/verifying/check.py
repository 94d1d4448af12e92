"""A check of a deployed stack, and how it ends."""

import time
from dataclasses import dataclass
from enum import Enum
from typing import Callable


class Finding(Enum):
    PASS = "pass"
    FAIL = "FAIL"
    SKIP = "skip"


@dataclass(frozen=True)
class Result:
    finding: Finding
    detail: str
    dollars: float = 0.0


def passed(detail, dollars=0.0):
    return Result(Finding.PASS, detail, dollars)


def failed(detail, dollars=0.0):
    return Result(Finding.FAIL, detail, dollars)


def skipped(detail):
    return Result(Finding.SKIP, detail)


@dataclass(frozen=True)
class Check:
    name: str
    shows: str
    touches: str
    minutes: int
    # The most that it spends, at the prices of us-east-1.
    dollars: float
    run: Callable


def wait_until(look, seconds, pause=5):
    """What `look` returns as soon as that is true, or its last answer after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen or time.monotonic() >= end:
            return seen
        time.sleep(pause)
