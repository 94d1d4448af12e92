"""The targets, and what others call their architectures."""

import dataclasses

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# The machine field of an ELF header.
ELF = {62: "x86_64", 183: "aarch64"}
LAMBDA = {"x86_64": "x86_64", "aarch64": "arm64"}


def processor(contents):
    """The processor that a program is for; `None` if it is not a program that we know."""
    return ELF.get(int.from_bytes(contents[18:20], "little")) if contents[:4] == b"\x7fELF" else None


@dataclasses.dataclass(frozen=True)
class Binary:
    target: str
    contents: bytes

    @staticmethod
    def read(target, path):
        contents = path.read_bytes()
        binary = Binary(target, contents)
        if processor(contents) != binary.processor:
            raise SystemExit(f"dist: {path} is not a program for {target}")
        return binary

    @property
    def processor(self):
        return self.target.split("-")[0]

    @property
    def architecture(self):
        """As Debian, Docker and Go say."""
        return DEBIAN[self.processor]
