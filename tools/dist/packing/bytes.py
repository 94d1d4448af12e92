"""Archives that depend only on their contents: entries sorted, owners and times fixed, no names of this machine."""

import dataclasses
import gzip
import io
import tarfile
import zipfile

# The first moment a zip archive can express. The functions carry no time: a zip is in the time zone of its maker.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True, order=True)
class Entry:
    """One file or, without contents, one directory."""

    path: str
    contents: bytes | None = None
    mode: int = 0o644
    owner: int = 0

    @staticmethod
    def directory(path, mode=0o755, owner=0):
        return Entry(path, None, mode, owner)


def with_parents(entries):
    """Adds the directories that no entry names, and sorts, so that a directory comes before what it contains."""
    known = {entry.path: entry for entry in entries}
    for path in list(known):
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            known.setdefault(parent, Entry.directory(parent))
    return [known[path] for path in sorted(known)]


def tar(entries, epoch, prefix=""):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in with_parents(entries):
            info = tarfile.TarInfo(prefix + entry.path)
            info.mode, info.mtime = entry.mode, epoch
            info.uid = info.gid = entry.owner
            if entry.contents is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.contents)
                archive.addfile(info, io.BytesIO(entry.contents))
    return packed.getvalue()


def gz(contents):
    return gzip.compress(contents, compresslevel=9, mtime=0)


def tar_gz(entries, epoch, prefix=""):
    return gz(tar(entries, epoch, prefix))


def zipped(name, contents, mode):
    packed = io.BytesIO()
    info = zipfile.ZipInfo(name, ZIP_EPOCH)
    info.external_attr = (0o100000 | mode) << 16
    info.create_system = 3
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(info, contents, compresslevel=9)
    return packed.getvalue()
