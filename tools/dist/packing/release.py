"""What is released: the version, its time, and the texts that the command writes about itself."""

import dataclasses
import subprocess
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SHELLS = ["bash", "zsh", "fish"]


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    epoch: int
    summary: str
    source: str
    completions: dict[str, bytes]
    man_pages: dict[str, bytes]

    @staticmethod
    def of(command, epoch):
        """`command` is a `postrider` that runs on this machine."""
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
        package = tomllib.loads((ROOT / "cli/Cargo.toml").read_text())["package"]
        said = run(command, "--version").decode().split()[-1]
        if said != workspace["version"]:
            raise SystemExit(f"dist: {command} is version {said}, the checkout is {workspace['version']}: build it again")
        completions = {shell: run(command, "completions", shell) for shell in SHELLS}
        return Release(workspace["version"], epoch, package["description"], workspace["repository"], completions, man_pages(command))


# Without the environment of this machine: the texts name defaults, which variables would replace.
def run(command, *arguments):
    return subprocess.run([command, *arguments], check=True, stdout=subprocess.PIPE, env={}).stdout


def man_pages(command):
    with tempfile.TemporaryDirectory() as folder:
        run(command, "man", folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def text(name):
    return (ROOT / name).read_bytes()
