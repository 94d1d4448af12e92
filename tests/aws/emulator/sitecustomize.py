"""Python reads this when MiniStack starts."""

import importlib.abc
import importlib.util
import socketserver
import sys

# Its runtime API must not wait 40 ms for an ACK on every invocation.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True


class OverTls(importlib.abc.MetaPathFinder):
    """Takes every request for one over TLS. On loopback there is none, and the template's policies deny requests without."""

    def find_spec(self, name, path, target=None):
        if name != "ministack.core.iam_evaluator":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            pin = module.pin_request_origin
            module.pin_request_origin = lambda source_ip, secure_transport: pin(source_ip, True)

        spec.loader.exec_module = execute_and_change
        return spec


sys.meta_path.insert(0, OverTls())
