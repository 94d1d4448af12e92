"""Runs the gateway in a temporary directory on a free port, for scripts that need a real one."""

import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30
LISTENING = re.compile(r"listening on (http://\S+)")


def default_binary():
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "postrider"


class Gateway:
    def __init__(self, url, data):
        self.url = url
        self.data = data
        self.token = (data / "admin-token").read_text().strip()

    def environment(self):
        return {"POSTRIDER_URL": self.url, "POSTRIDER_TOKEN": self.token}


@contextlib.contextmanager
def running(binary):
    """A gateway whose webhooks may target this machine."""
    with tempfile.TemporaryDirectory(prefix="postrider-") as folder:
        data = Path(folder) / "data"
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("POSTRIDER_", "OTEL_"))}
        settings |= {"POSTRIDER_EGRESS_ALLOW": "127.0.0.1/32", "POSTRIDER_LOG": "warn"}
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", data]
        process = subprocess.Popen(command, cwd=folder, env=settings, stdout=subprocess.PIPE, text=True)
        try:
            found = next(filter(None, map(LISTENING.search, process.stdout)), None)
            if not found:
                raise SystemExit(f"{binary} did not start")
            yield Gateway(found.group(1), data)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()
