#!/usr/bin/env python3
"""A real SMTP server for the tests: `.tools/venv/bin/python tests/mail/server.py OPTIONS` (`make setup` creates the venv).

OPTIONS is a JSON object: {"port": 0, "tls": null | "starttls" | "wrapped", "certificate": "…pem", "key": "…pem",
"login": null | ["user", "password"], "refused": ["address that gets 550", …], "busy": ["address that gets 451", …]}.

Out, one JSON document per line: first {"port": …}, then for each accepted e-mail
{"from", "to", "tls", "user", "headers": {"subject": …}, "parts": [["text/plain", "…"], ["text/html", "…"]], "defects"},
as Python's email library reads it, and {"refused": address} for each rejected recipient.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def say(document):
    print(json.dumps(document), flush=True)


class Mailbox:
    def __init__(self, options):
        self.refused = set(options.get("refused") or [])
        self.busy = set(options.get("busy") or [])

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        for answer, addresses in (("550 no such user", self.refused), ("451 come again", self.busy)):
            if address in addresses:
                say({"refused": address})
                return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        parts = [part for part in mail.walk() if not part.is_multipart()]
        say({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": server.transport.get_extra_info("ssl_object") is not None,
            "user": session.auth_data,
            "type": mail.get_content_type(),
            "headers": {name.lower(): str(value) for name, value in mail.items()},
            "parts": [[part.get_content_type(), part.get_content()] for part in parts],
            "defects": [str(defect) for part in mail.walk() for defect in part.defects],
        })
        return "250 OK"


async def main(options):
    context = None
    if options.get("tls"):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options["certificate"], options["key"])
    starttls = context if options["tls"] == "starttls" else None
    login = options.get("login")

    def authenticate(server, session, envelope, mechanism, data):
        given = [data.login.decode(), data.password.decode()]
        return AuthResult(success=given == login, handled=False, auth_data=given[0])

    def protocol():
        return SMTP(
            Mailbox(options),
            hostname="localhost",
            loop=asyncio.get_running_loop(),
            tls_context=starttls,
            require_starttls=starttls is not None,
            auth_required=login is not None,
            auth_require_tls=False,
            authenticator=authenticate if login else None,
            enable_SMTPUTF8=True,
        )

    wrapped = context if options["tls"] == "wrapped" else None
    server = await asyncio.get_running_loop().create_server(
        protocol, host="127.0.0.1", port=options["port"], ssl=wrapped
    )
    say({"port": server.sockets[0].getsockname()[1]})
    await server.serve_forever()


asyncio.run(main(json.loads(sys.argv[1])))
