"""The container image, for all architectures in one OCI archive. Nothing but the binary and certificates is in it."""

import hashlib
import json
from datetime import datetime, timezone

from packing.bytes import Entry, gz, tar

USER = 65532
DATA = "var/lib/postrider"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
MEDIA = "application/vnd.oci.image"


class Blobs:
    """Contents by their digest, as an OCI layout stores them."""

    def __init__(self):
        self.entries = []

    def add(self, contents, media_type):
        digest = hashlib.sha256(contents).hexdigest()
        entry = Entry(f"blobs/sha256/{digest}", contents)
        if entry not in self.entries:
            self.entries.append(entry)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(contents)}

    def add_json(self, value, media_type):
        return self.add(compact(value), media_type)


def image(release, binaries, certificates):
    blobs = Blobs()
    images = [one_image(release, binary, certificates, blobs) for binary in binaries]
    index = blobs.add_json({
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.index.v1+json",
        "manifests": [{**manifest, "platform": platform(binary)} for binary, (manifest, _) in zip(binaries, images)],
        "annotations": labels(release),
    }, f"{MEDIA}.index.v1+json")
    # Podman and skopeo read the first annotation, containerd and Docker the second.
    index["annotations"] = {
        "org.opencontainers.image.ref.name": release.version,
        "io.containerd.image.name": f"docker.io/library/postrider:{release.version}",
    }
    layout = [
        Entry("oci-layout", compact({"imageLayoutVersion": "1.0.0"})),
        Entry("index.json", compact({"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [index]})),
        Entry("manifest.json", compact([loadable for _, loadable in images])),
    ]
    return f"postrider-{release.version}-image.tar", tar(layout + blobs.entries, release.epoch)


def one_image(release, binary, certificates, blobs):
    """The manifest, and the entry with which versions of Docker that do not read OCI layouts load it."""
    layer = tar(files(binary, certificates), release.epoch)
    packed = blobs.add(gz(layer), f"{MEDIA}.layer.v1.tar+gzip")
    config = blobs.add_json({
        **platform(binary),
        "created": created(release),
        "config": configuration(release),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created(release), "created_by": "make dist"}],
    }, f"{MEDIA}.config.v1+json")
    manifest = blobs.add_json({
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": config,
        "layers": [packed],
        "annotations": labels(release),
    }, f"{MEDIA}.manifest.v1+json")
    path = lambda blob: "blobs/" + blob["digest"].replace(":", "/")
    tag = f"postrider:{release.version}-{binary.architecture}"
    return manifest, {"Config": path(config), "RepoTags": [tag], "Layers": [path(packed)]}


def files(binary, certificates):
    return [
        Entry("usr/bin/postrider", binary.contents, 0o755),
        Entry(CERTIFICATES, certificates),
        Entry("etc/passwd", f"postrider:x:{USER}:{USER}::/{DATA}:/nonexistent\n".encode()),
        Entry("etc/group", f"postrider:x:{USER}:\n".encode()),
        # A new volume gets the owner and the mode of this directory.
        Entry.directory(DATA, 0o700, USER),
        Entry.directory("tmp", 0o1777),
    ]


def configuration(release):
    return {
        "User": f"{USER}:{USER}",
        "Entrypoint": ["/usr/bin/postrider"],
        "Cmd": ["serve"],
        "WorkingDir": f"/{DATA}",
        "Volumes": {f"/{DATA}": {}},
        "ExposedPorts": {"8080/tcp": {}},
        "StopSignal": "SIGTERM",
        "Env": [
            "PATH=/usr/bin",
            f"POSTRIDER_DATA=/{DATA}",
            "POSTRIDER_LISTEN=0.0.0.0:8080",
            "POSTRIDER_LOG_FORMAT=json",
        ],
        "Labels": labels(release),
    }


def labels(release):
    return {
        "org.opencontainers.image.created": created(release),
        "org.opencontainers.image.description": release.summary,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.source": release.source,
        "org.opencontainers.image.title": "Postrider",
        "org.opencontainers.image.version": release.version,
    }


def platform(binary):
    variant = {"variant": "v8"} if binary.architecture == "arm64" else {}
    return {"architecture": binary.architecture, "os": "linux"} | variant


def created(release):
    return datetime.fromtimestamp(release.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def compact(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
