"""Reads each stream mapping in a thread of its own, as Lambda does. MiniStack runs stream functions in the one thread that
also polls the queues, so a watcher that waits for young rows would stop every other function."""

import threading
import time

IDLE_SECONDS = 0.1


def apart(module):
    """Changes MiniStack's Lambda service."""
    every, poll = module._iter_all_esms, module._poll_dynamodb_streams
    thread, running = threading.local(), set()

    def iterated():
        only = getattr(thread, "mapping", None)
        return (one for one in every() if only in (None, one[2]["UUID"]))

    def read(mapping):
        thread.mapping = mapping
        while any(True for _ in iterated()):
            if not poll():
                time.sleep(IDLE_SECONDS)
        running.discard(mapping)

    def poll_apart():
        for _, _, mapping in every():
            if ":dynamodb:" in mapping.get("EventSourceArn", "") and mapping["UUID"] not in running:
                running.add(mapping["UUID"])
                threading.Thread(target=read, args=(mapping["UUID"],), daemon=True).start()
        return False

    module._iter_all_esms, module._poll_dynamodb_streams = iterated, poll_apart
