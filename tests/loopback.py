"""A web server on the loopback for the tests of `fetch`: real sockets, and every way in which a server can fail."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["NO_PROXY"] = "127.0.0.1"  # a proxy of the environment has no business here


@dataclass
class Server:
    """files: path -> content. Faults, each used up by one request for its path: a number drops the connection after so
    many bytes of the body; an HTTP status is answered instead (503, or with headers as a tuple: (302, {...})).

    ranges: answer requests for a part; tagged: send ETag; length: "true", "none" (until the connection closes),
    "chunked", or a number to add to the true one. asked: (method, path, Range) of each request; slowly: seconds before
    each 16 KiB; most_at_once: files that were on their way at the same time.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    tagged: bool = True
    length: str | int = "true"
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    headers_seen: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0
    slowly: float = 0.0
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def serving(server: Server | None = None) -> Iterator[Server]:
    """Serve on a free port of the loopback until the block ends."""
    server = server or Server()
    handler = type("Handler", (_Handler,), {"server_state": server})
    with _Quiet(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Whoever was killed has closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        state = self.server_state
        state.asked.append((self.command, self.path, self.headers.get("Range")))
        state.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        if self.path in state.redirects:
            return self._short(302, {"Location": state.redirects[self.path]})
        fault = state.faults[self.path].pop(0) if state.faults.get(self.path) else None
        if isinstance(fault, tuple):
            return self._short(*fault)
        if isinstance(fault, int) and 400 <= fault < 600:
            return self._short(fault, {})
        if self.path not in state.files:
            return self._short(404, {})
        self._send(state.files[self.path], None if fault is None else abs(fault), body)

    def _short(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, content: bytes, drop_after: int | None, body: bool) -> None:
        state = self.server_state
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        begin, asked = 0, self.headers.get("Range")
        if state.ranges and asked and self.headers.get("If-Range", tag) == tag:
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            if begin >= len(content):
                return self._short(416, {"Content-Range": f"bytes */{len(content)}"})
        part = content[begin:]
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        if state.tagged:
            self.send_header("ETag", tag)
        if state.length == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        elif state.length == "none":
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            more = 0 if state.length == "true" else int(state.length)
            self.send_header("Content-Length", str(len(part) + more))
            self.close_connection = more != 0
        self.end_headers()
        if not body:
            return
        cut = part if drop_after is None else part[:drop_after]
        state.at_once += 1
        state.most_at_once = max(state.most_at_once, state.at_once)
        pieces = [cut[at : at + 16384] for at in range(0, len(cut), 16384)]
        try:
            for piece in pieces[:-1]:
                self._piece(piece)
        except OSError:
            return
        finally:
            state.at_once -= 1  # before the last piece: with it the other side may ask for the next file
        try:
            for piece in pieces[-1:]:
                self._piece(piece)
            if state.length == "chunked" and drop_after is None:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass
        if drop_after is not None:
            self.close_connection = True

    def _piece(self, piece: bytes) -> None:
        state = self.server_state
        if state.slowly:
            threading.Event().wait(state.slowly)
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if state.length == "chunked" else piece)
        state.sent += len(piece)


def hub(server: Server, repository: str, revisions: dict[str, dict[str, bytes]], names: dict[str, str]) -> None:
    """Let a server answer as a hub does for one data set.

    revisions: commit -> path -> content; names: moving name -> commit. Call it again to move one.
    """
    for name, commit in {**names, **{commit: commit for commit in revisions}}.items():
        about = {"id": repository, "sha": commit, "siblings": [], "private": False, "tags": [], "downloads": 0}
        server.files[f"/api/datasets/{repository}/revision/{name}"] = json.dumps(about).encode()
    for commit, files in revisions.items():
        entries = []
        for path, content in files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry = {"type": "file", "path": path, "size": len(content), "oid": blob}
            if path.endswith(".parquet"):
                sha256 = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 134}
            entries.append(entry)
            server.files[f"/datasets/{repository}/resolve/{commit}/{path}"] = content
        for end in ("?recursive=true&expand=false", "?recursive=True&expand=False"):
            server.files[f"/api/datasets/{repository}/tree/{commit}{end}"] = json.dumps(entries).encode()
