"""What senders and publishers see: throttles and TLS."""

import http.client
import socket
import ssl
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

from .check import failed, passed, skipped

THREADS, SECONDS, MOST = 128, 15, 20_000
# HTTP API, an invocation, its compute and one write unit.
DOLLARS_PER_REQUEST = 2.2e-6


def throttle(stack, gateway):
    url, statuses, lock, end = urlsplit(gateway.url), Counter(), threading.Lock(), time.monotonic() + SECONDS

    def send():
        connection = http.client.HTTPSConnection(url.netloc, timeout=10)
        while time.monotonic() < end and statuses.total() < MOST and not statuses[429] > 50:
            try:
                connection.request("POST", "/gateway/webhooks/src_verify", body=b"{}")
                response = connection.getresponse()
                response.read()
                status = response.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            with lock:
                statuses[status] += 1

    senders = [threading.Thread(target=send) for _ in range(THREADS)]
    started = time.monotonic()
    for sender in senders:
        sender.start()
    published = []
    while any(sender.is_alive() for sender in senders):
        published.append(gateway.call("GET", "/v1/webhooks")[0])
        time.sleep(0.2)
    rate = statuses.total() / (time.monotonic() - started)
    spent = statuses.total() * DOLLARS_PER_REQUEST
    said = f"{statuses.total()} requests to a source at {rate:.0f}/s, {statuses[429]} answered with 429"
    if not statuses[429]:
        allowed = stack.parameters["InboundRate"]
        return failed(f"{said}: more than {allowed}/s were let through", spent) if rate > 2 * float(allowed) else skipped(
            f"{said}: this machine is too slow to reach InboundRate; deploy with InboundRate=50 InboundBurst=50")
    bad = [status for status in published if status != 200]
    return failed(f"{said}, but the API answered {bad}", spent) if bad else passed(f"{said}, the API all with 200", spent)


def tls(stack, gateway):
    host = urlsplit(gateway.url).hostname
    version, old = handshake(host, None), handshake(host, ssl.TLSVersion.TLSv1_1)
    wrong, default = [], "no DomainName"
    if version not in ("TLSv1.2", "TLSv1.3"):
        wrong.append(f"{host} answers with {version}")
    if old.startswith("TLS"):
        wrong.append(f"{host} accepts {old}")
    if stack.parameters.get("DomainName"):
        status = status_of(f"{stack.resources['HttpApi']}.execute-api.{stack.region}.amazonaws.com")
        default = f"the default address answers {status}"
        if status not in (403, 404):
            wrong.append(f"{default}, although there is a DomainName")
    return failed("; ".join(wrong)) if wrong else passed(f"{version} with a valid certificate, TLS 1.1 refused, {default}")


def handshake(host, newest):
    """The TLS version that a server agrees to, or why it does not."""
    context = ssl.create_default_context()
    if newest is not None:
        # Otherwise this machine's own rules would refuse old versions, whatever the server does.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, newest
    try:
        with socket.create_connection((host, 443), timeout=10) as raw, context.wrap_socket(raw, server_hostname=host) as secured:
            return secured.version()
    except OSError as error:
        return f"no connection: {error}"


def status_of(host):
    connection = http.client.HTTPSConnection(host, timeout=10)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    finally:
        connection.close()
