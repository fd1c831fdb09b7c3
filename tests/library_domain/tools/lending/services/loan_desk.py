"""A loan desk as an HTTP service: a book of loans for each credential, nothing kept when it ends.

    python tests/library_domain/tools/lending/services/loan_desk.py --port 8080

It prints its address, and ends when its standard input does.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Loans = dict[str, dict[str, Any]]


class Refused(Exception):
    """A request that is answered with an error status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class LoanDesk(ThreadingHTTPServer):
    """Holds every clone's loans by its credential."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Request)
        self.clones: dict[str, Loans] = {}

    def answer(self, request: str, credential: str, body: Any) -> Any:
        """Carry out one request, such as ``GET /loans``."""
        if request == "GET /health":
            return {}
        if request == "POST /clones":
            credential = secrets.token_hex(8)
            self.clones[credential] = body
            return {"credential": credential}
        if credential not in self.clones:
            raise Refused(401, "nobody has this credential")
        loans = self.clones[credential]
        match request.split("/"):
            case ["GET ", "loans"]:
                return loans
            case ["PUT ", "loans"]:
                self.clones[credential] = body
            case ["DELETE ", "loans"]:
                del self.clones[credential]
            case ["POST ", "loans", book, "renewals"]:
                return _renew(loans, book, body["day"])
            case _:
                raise Refused(404, f"there is no {request}")
        return {}


def _renew(loans: Loans, book: str, day: int) -> dict[str, Any]:
    loan = loans.get(book)
    if loan is None:
        raise Refused(404, f"nobody has borrowed {book}")
    if loan["renewals"] >= 2:
        raise Refused(409, f"{book} was renewed twice already")
    loan["due_day"], loan["renewals"] = day, loan["renewals"] + 1
    return loan


class Request(BaseHTTPRequestHandler):
    """One request: a JSON body in, a JSON body out."""

    server: LoanDesk
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # Head and body leave together: apart, the second waits 40 ms for the first to be acknowledged.

    def handle_one(self) -> None:
        """Answer."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        credential = self.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            status, value = 200, self.server.answer(f"{self.command} {self.path}", credential, body)
        except Refused as refusal:
            status, value = refusal.status, {"reason": str(refusal)}
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - the names that the base class calls

    def log_message(self, *values: object) -> None:
        """Write nothing: standard error is the run's."""


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with LoanDesk(parser.parse_args().port) as desk:
        print(f"http://127.0.0.1:{desk.server_port}", flush=True)
        threading.Thread(target=desk.serve_forever, daemon=True).start()
        sys.stdin.read()
        desk.shutdown()


if __name__ == "__main__":
    main()
