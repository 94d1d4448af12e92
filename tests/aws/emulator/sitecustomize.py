"""Python reads this when MiniStack starts: its runtime API must not wait 40 ms for an ACK on every invocation."""

import socketserver

socketserver.StreamRequestHandler.disable_nagle_algorithm = True
