"""The targets, and what others call their architectures."""

import dataclasses

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# The machine field of an ELF header.
ELF = {62: "x86_64", 183: "aarch64"}


@dataclasses.dataclass(frozen=True)
class Binary:
    target: str
    contents: bytes

    @staticmethod
    def read(target, path):
        contents = path.read_bytes()
        binary = Binary(target, contents)
        machine = ELF.get(int.from_bytes(contents[18:20], "little")) if contents[:4] == b"\x7fELF" else None
        if machine != binary.processor:
            raise SystemExit(f"dist: {path} is not a program for {target}")
        return binary

    @property
    def processor(self):
        return self.target.split("-")[0]

    @property
    def architecture(self):
        """As Debian, Docker and Go say."""
        return DEBIAN[self.processor]
