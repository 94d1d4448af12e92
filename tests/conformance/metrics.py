#!/usr/bin/env python3
"""Run as `.tools/venv/bin/python tests/conformance/metrics.py` (`make setup` creates the venv); the text of `/metrics` in,
one JSON document out.

Out: {"<family>": {"type": "gauge", "help": "…", "samples": [["<name>", {"<label>": "<value>"}, 1.0], …]}, …}

The text is parsed by the library of the Prometheus project. Some errors that its parser accepts are rejected here: a
family that occurs twice or has no help text, a series that occurs twice, a histogram whose buckets do not add up.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families


def check_histogram(family):
    series = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        part = series.setdefault(labels, {"buckets": [], "count": None, "sum": None})
        if sample.name.endswith("_bucket"):
            part["buckets"].append((float(sample.labels["le"]), sample.value))
        else:
            part[sample.name.rsplit("_", 1)[1]] = sample.value
    for labels, part in series.items():
        counts = [count for _, count in sorted(part["buckets"])]
        assert counts == sorted(counts), f"{family.name} {labels}: buckets do not grow"
        assert max(part["buckets"])[0] == float("inf"), f"{family.name} {labels}: no bucket for everything"
        assert counts[-1] == part["count"], f"{family.name} {labels}: the last bucket is not the count"
        assert part["sum"] is not None, f"{family.name} {labels}: no sum"


def read(text):
    families = {}
    for family in text_string_to_metric_families(text):
        assert family.name not in families, f"{family.name} comes twice"
        assert family.type in ("gauge", "counter", "histogram"), f"{family.name} is a {family.type}"
        assert family.documentation, f"{family.name} explains nothing"
        series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert series and len(series) == len(set(series)), f"{family.name} has a series twice, or none"
        if family.type == "histogram":
            check_histogram(family)
        samples = [[sample.name, sample.labels, sample.value] for sample in family.samples]
        families[family.name] = {"type": family.type, "help": family.documentation, "samples": samples}
    return families


json.dump(read(sys.stdin.read()), sys.stdout)
