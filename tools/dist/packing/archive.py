"""The archive for any Linux: the binary, completions and man pages, to unpack anywhere."""

from packing.bytes import Entry, tar_gz
from packing.release import text


def archive(release, binary):
    name = f"postrider-{release.version}-{binary.processor}-linux"
    entries = [Entry("postrider", binary.contents, 0o755)]
    entries += [Entry(file, text(file)) for file in ["LICENSE", "README.md"]]
    entries += [Entry(f"completions/{file_name(shell)}", script) for shell, script in release.completions.items()]
    entries += [Entry(f"man/man1/{page}", contents) for page, contents in release.man_pages.items()]
    return f"{name}.tar.gz", tar_gz(entries, release.epoch, prefix=f"{name}/")


def file_name(shell):
    """The name under which the shell looks for it."""
    return {"bash": "postrider", "zsh": "_postrider", "fish": "postrider.fish"}[shell]
