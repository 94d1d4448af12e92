"""The Debian package. The format is an `ar` archive of two tar archives, so no Debian tool is needed to build it."""

import hashlib

from packing.archive import file_name
from packing.bytes import Entry, gz, tar_gz, with_parents
from packing.release import text

FILES = "tools/dist/debian"
CONFFILE = "etc/postrider/postrider.env"
SCRIPTS = ["postinst", "prerm", "postrm"]
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}


def package(release, binary):
    installed = with_parents(files(release, binary))
    control = [
        Entry("control", control_file(release, binary, installed)),
        Entry("conffiles", f"/{CONFFILE}\n".encode()),
        Entry("md5sums", md5sums(installed)),
        *(Entry(name, text(f"{FILES}/{name}"), 0o755) for name in SCRIPTS),
    ]
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tar_gz(control, release.epoch, prefix="./"),
        "data.tar.gz": tar_gz(installed, release.epoch, prefix="./"),
    }
    name = f"postrider_{debian_version(release.version)}_{binary.architecture}.deb"
    return name, ar(members, release.epoch)


def files(release, binary):
    doc = "usr/share/doc/postrider"
    return [
        Entry("usr/bin/postrider", binary.contents, 0o755),
        Entry("usr/lib/systemd/system/postrider.service", text(f"{FILES}/postrider.service")),
        # It may contain a key and the password of a mail server.
        Entry(CONFFILE, text(f"{FILES}/postrider.env"), 0o600),
        Entry(f"{doc}/copyright", text(f"{FILES}/copyright")),
        Entry(f"{doc}/README.md", text("README.md")),
        Entry(f"{doc}/changelog.gz", gz(text("CHANGELOG.md"))),
        *(Entry(f"{COMPLETIONS[shell]}/{file_name(shell)}", script) for shell, script in release.completions.items()),
        *(Entry(f"usr/share/man/man1/{page}.gz", gz(contents)) for page, contents in release.man_pages.items()),
    ]


def debian_version(version):
    """A tilde sorts before the end, as a pre-release must."""
    return version.replace("-", "~")


def control_file(release, binary, installed):
    size = sum(-(-len(entry.contents or b"") // 1024) or 1 for entry in installed)
    summary, _, more = release.summary.partition(": ")
    fields = {
        "Package": "postrider",
        "Version": debian_version(release.version),
        "Architecture": binary.architecture,
        "Maintainer": "The Postrider authors <postrider@users.noreply.github.com>",
        "Installed-Size": size,
        "Depends": "adduser, init-system-helpers (>= 1.52)",
        "Section": "net",
        "Priority": "optional",
        "Homepage": release.source,
        "Description": f"{summary}\n It {more}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode()


def md5sums(installed):
    lines = [f"{hashlib.md5(entry.contents).hexdigest()}  {entry.path}\n"
             for entry in installed if entry.contents is not None and entry.path != CONFFILE]
    return "".join(lines).encode()


def ar(members, epoch):
    packed = b"!<arch>\n"
    for name, contents in members.items():
        packed += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(contents):<10}`\n".encode() + contents
        packed += b"\n" * (len(contents) % 2)
    return packed
