"""Python reads this when MiniStack starts."""

import importlib.abc
import importlib.util
import socketserver
import sys

import rows
import streams

# Its runtime API must not wait 40 ms for an ACK on every invocation.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True


def over_tls(evaluator):
    """Every request counts as one over TLS: on loopback there is none, and the template's policies deny requests without."""
    pin = evaluator.pin_request_origin
    evaluator.pin_request_origin = lambda source_ip, secure_transport: pin(source_ip, True)


CHANGES = {
    "ministack.core.iam_evaluator": [over_tls, rows.enforced],
    "ministack.services.lambda_svc": [streams.apart],
}


class Changed(importlib.abc.MetaPathFinder):
    """Changes these modules when they are imported."""

    def find_spec(self, name, path, target=None):
        if name not in CHANGES:
            return None
        changes = CHANGES.pop(name)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            for change in changes:
                change(module)

        spec.loader.exec_module = execute_and_change
        return spec


sys.meta_path.insert(0, Changed())
