#!/usr/bin/env python3
"""Run as `.tools/venv/bin/python tests/conformance/collector.py` (`make setup` creates the venv): an OTLP/HTTP receiver on
a free port of 127.0.0.1, which reads what it is sent with the messages that the OpenTelemetry project publishes.

Out, a line each: {"port": 4318} first, then each span as it comes:
{"name", "trace", "id", "parent", "kind", "milliseconds", "attributes", "links", "failure", "service", "scope", "headers"}
Ends when its standard input is closed.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (ExportTraceServiceRequest,
                                                                      ExportTraceServiceResponse)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

OUT = threading.Lock()


def say(line):
    with OUT:
        print(json.dumps(line), flush=True)


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def attributes(of):
    found = {one.key: value(one.value) for one in of.attributes}
    assert len(found) == len(of.attributes), "an attribute comes twice"
    return found


def read(span, service, scope, headers):
    assert len(span.trace_id) == 16 and len(span.span_id) == 8 and len(span.parent_span_id) in (0, 8)
    assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "kind": Span.SpanKind.Name(span.kind),
        "milliseconds": (span.end_time_unix_nano - span.start_time_unix_nano) // 1_000_000,
        "attributes": attributes(span),
        "links": [f"{link.trace_id.hex()}-{link.span_id.hex()}" for link in span.links],
        "failure": span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None,
        "service": service,
        "scope": scope,
        "headers": headers,
    }


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces", self.path
        assert self.headers["content-type"] == "application/x-protobuf", self.headers["content-type"]
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): text for name, text in self.headers.items()}
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = attributes(resource.resource)["service.name"]
            for part in resource.scope_spans:
                for span in part.spans:
                    say(read(span, service, part.scope.name, headers))
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
say({"port": server.server_port})
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
