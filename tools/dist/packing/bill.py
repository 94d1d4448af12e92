"""The bill of materials: every crate in the binary, in CycloneDX's format, from Cargo.lock."""

import json
import subprocess
import tomllib
import uuid
from datetime import datetime, timezone

from packing.release import ROOT


def bill(targets, epoch):
    linked = crates(targets)
    metadata = cargo_metadata(targets)
    packages = {package["id"]: package for package in metadata["packages"] if (package["name"], package["version"]) in linked}
    graph = {node["id"]: node["dependencies"] for node in metadata["resolve"]["nodes"]}
    root = next(name for name, package in packages.items() if package["name"] == "postrider")
    checksums = locked_checksums()
    reference = {name: purl(package) for name, package in packages.items()}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Derived from the contents' name, so that the same release has the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl(packages[root])}/{epoch}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(packages[root], checksums) | {"type": "application"},
        },
        "components": [component(packages[name], checksums) for name in sorted(packages.keys() - {root}, key=reference.get)],
        "dependencies": [
            {"ref": reference[name], "dependsOn": sorted({reference[other] for other in graph[name] if other in packages})}
            for name in sorted(packages, key=reference.get)
        ],
    }
    return json.dumps(document, indent=1, sort_keys=True)


def crates(targets):
    """Names and versions of what is linked. The metadata would also name what other members of the workspace need."""
    found = set()
    for target in targets:
        tree = cargo("tree", "--package", "postrider", "--target", target, "--edges", "normal,no-proc-macro", "--prefix", "none")
        found |= {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, tree.decode().splitlines())}
    return found


def cargo_metadata(targets):
    filters = [part for target in targets for part in ("--filter-platform", target)]
    return json.loads(cargo("metadata", "--format-version", "1", *filters))


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def locked_checksums():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def component(package, checksums):
    found = {
        "type": "library",
        "bom-ref": purl(package),
        "purl": purl(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    checksum = checksums.get((package["name"], package["version"]))
    return found | ({"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {})


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"
