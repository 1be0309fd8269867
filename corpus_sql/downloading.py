"""One upstream file to one verified file on disk: streamed, resumed, tried again, hashed.

What was received is kept beside a small state file, so that a killed download goes on where it stopped. Two versions of
a file are never joined: a download is resumed only with the server's word that the file is the same (ETag or date, by
If-Range), or where its SHA-256 is known and compared at the end.

Web servers are asked here and not through fsspec, whose client follows redirects wherever they lead and unpacks what
servers pack. All other URLs go through fsspec.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from corpus_sql import __version__, limits
from corpus_sql.errors import ConfigError, DataError, Problem, RefusedError, missing
from corpus_sql.recipes import WEB
from corpus_sql.written_urls import in_text, written

TRIES = 6  # in a row without one new byte: with the waits below about half a minute
WAIT = 0.5  # seconds before the second try, doubled each time
LONGEST_WAIT = 60.0  # seconds; a server that asks for more is not waited for
TIMEOUT = (15, 60)  # seconds to connect, and between two pieces
REDIRECTS = 5
ELSEWHERE = ", or point [paths] work elsewhere"  # what helps where the disk is full
_PIECE = 1 << 18
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+|\*)")


@dataclass(frozen=True)
class Wanted:
    """A file to fetch.

    url: as the ledger names it; address: what is asked, the same but for hf:// and what signs it; name: its path as
    upstream has it, on this machine that below the folder which the recipe names; hosts: that may be asked, with their
    ports where they are not the scheme's own; headers: for the host of the address alone; sha256: as known beforehand,
    for the caller to compare; git_sha1, bytes: as the host lists them, compared here.
    """

    url: str
    address: str
    name: str
    hosts: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sha256: str | None = None
    git_sha1: str | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Got:
    """A file that was fetched, or had been before."""

    url: str
    path: Path
    sha256: str
    bytes: int


class Gone(DataError):
    """The server says that there is no such file."""


class TooLarge(Exception):
    """A file that goes beyond the cap; its size, or None where the server did not say."""

    def __init__(self, size: int | None):
        self.size = size


class Stopped(Exception):
    """Somebody else failed, or the user stopped the run."""


class _Again(Exception):
    """A failure that another try may mend. wait: seconds that the server asks for."""

    def __init__(self, what: str, wait: float | None = None):
        self.what, self.wait = what, wait


class Downloader:
    """Fetches files into a folder, one at a time; several may work side by side in folders of their own.

    advance: called with the bytes of each piece; stop: set from outside to end it.
    """

    def __init__(self, folder: Path, advance: Callable[[int], None], stop: threading.Event, wait: float = WAIT):
        self.folder, self.advance, self.stop, self.wait = folder, advance, stop, wait
        self._session: Any = None
        self._joined = False  # whether the file at hand is made of several answers

    def get(self, one: Wanted, cap: int | None = None) -> Got:
        """Fetch a file, or the rest of it. cap: bytes that it may have.

        Raises TooLarge beyond the cap, RefusedError for a redirect that leads elsewhere, DataError for a file that
        cannot be had, and for one that differs from what its host says of it.
        """
        name = hashlib.sha256(one.url.encode()).hexdigest()[:32]
        self.part, self.path = self.folder / f"{name}.part", self.folder / name
        self.note = self.folder / f"{name}.json"
        state = self._state(one)
        if "sha256" in state and self.path.is_file() and self.path.stat().st_size == state["bytes"]:
            if one.sha256 in (None, state["sha256"]):
                if cap is not None and state["bytes"] > cap:
                    raise TooLarge(state["bytes"])
                return Got(one.url, self.path, state["sha256"], state["bytes"])
            self.drop(one.url)
            state = {"url": one.url}
        while True:
            self._joined = False
            self._fetch(one, state, cap)
            sha256, size = _hashed(self.part)
            wrong = self._wrong(one, sha256, size)
            if not self._joined or not (wrong or one.sha256 not in (None, sha256)):
                break
            self.part.unlink()  # what was there before may have been of another version
        if wrong:
            self.drop(one.url)
            raise DataError(Problem(one.url, wrong, "Nothing of it was kept; fetch it again."))
        os.replace(self.part, self.path)
        self._write({"url": one.url, "sha256": sha256, "bytes": size})
        return Got(one.url, self.path, sha256, size)

    def drop(self, url: str) -> None:
        """Forget a file, so that it is fetched anew."""
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        for end in ("", ".part", ".json"):
            (self.folder / f"{name}{end}").unlink(missing_ok=True)

    def _wrong(self, one: Wanted, sha256: str, size: int) -> str:
        if one.bytes is not None and size != one.bytes:
            return f"has {size} bytes, the host lists it with {one.bytes}"
        if one.git_sha1 and (is_now := _git_sha1(self.part, size)) != one.git_sha1:
            return f"has the git hash {is_now}, the host lists it with {one.git_sha1}"
        return ""

    def _state(self, one: Wanted) -> dict[str, Any]:
        """What is known of an earlier try; of nothing, and of a damaged note, nothing is kept."""
        try:
            state = json.loads(self.note.read_text())
            if state["url"] == one.url:
                return state
        except (OSError, ValueError, KeyError, TypeError):
            pass
        self.part.unlink(missing_ok=True)
        return {"url": one.url}

    def _write(self, state: dict[str, Any]) -> None:
        aside = self.note.with_suffix(".new")
        with limits.writing(self.folder, ELSEWHERE):
            aside.write_text(json.dumps(state))
            os.replace(aside, self.note)

    def _received(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _fetch(self, one: Wanted, state: dict[str, Any], cap: int | None) -> None:
        """Try until the file is whole, or until TRIES tries in a row brought nothing."""
        attempt = self._from_web if urlsplit(one.address).scheme in WEB else self._from_fsspec
        failed, furthest, wait = 0, self._received(), self.wait
        while True:
            if self.stop.is_set():
                raise Stopped
            try:
                return attempt(one, state, cap)
            except _Again as again:
                if self._received() > furthest:
                    failed, furthest, wait = 0, self._received(), self.wait
                failed += 1
                if failed >= TRIES or (again.wait or 0) > LONGEST_WAIT:
                    asked = f" and asks to wait {again.wait:.0f} seconds" if (again.wait or 0) > LONGEST_WAIT else ""
                    tries = "" if asked else f", {TRIES} times in a row"
                    kept = self._received()
                    fix = f"{kept} bytes are kept; run it again to go on." if kept else "Run it again later."
                    raise DataError(Problem(one.url, again.what + asked + tries, fix)) from None
                if self.stop.wait(max(wait, again.wait or 0)):
                    raise Stopped from None
                wait = min(2 * wait, LONGEST_WAIT)

    # the web

    def _from_web(self, one: Wanted, state: dict[str, Any], cap: int | None) -> None:
        requests = _requests()
        from urllib3.exceptions import HTTPError

        offset = self._received()
        if offset and not state.get("validator") and not one.sha256:
            self.part.unlink()  # nobody would say whether it goes on with the same file
            offset = 0
        headers = {"Accept-Encoding": "identity", "User-Agent": f"corpus-sql/{__version__}"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if state.get("validator"):
                headers["If-Range"] = state["validator"]
        try:
            with contextlib.closing(self._asked(one, headers)) as answer:
                self._take(one, answer, offset, state, cap)
        except requests.exceptions.SSLError as error:
            raise DataError(Problem(one.url, f"has no valid certificate: {_reason(error)}")) from None
        except (requests.exceptions.RequestException, HTTPError, OSError) as error:
            raise _Again(f"breaks off: {_reason(error)}") from None

    def _asked(self, one: Wanted, headers: dict[str, str]) -> Any:
        """Send the request, and follow redirects that stay with the scheme and the hosts."""
        if self._session is None:
            self._session = _requests().Session()
        address, start = one.address, urlsplit(one.address)
        for _ in range(REDIRECTS + 1):
            own = one.headers if urlsplit(address).netloc == start.netloc else {}
            answer = self._session.get(
                address, headers={**headers, **own}, stream=True, allow_redirects=False, timeout=TIMEOUT
            )
            if answer.status_code not in (301, 302, 303, 307, 308):
                return answer
            answer.close()
            target = urlsplit(urljoin(address, answer.headers.get("Location", "")))
            if target.scheme != start.scheme:
                what = f"refused: redirects to another scheme, {written(target.geturl())}"
                raise RefusedError(Problem(one.url, what, "If that is the right place, write it into the recipe."))
            if not allowed(target.netloc, target.scheme, one.hosts):
                host = target.netloc.rpartition("@")[2]
                what = f"refused: redirects to {host}, a host that the recipe does not name"
                fix = f'If it may be asked: hosts = ["{host}"].'
                raise RefusedError(Problem(one.url, what, fix))
            address = target.geturl()
        raise DataError(Problem(one.url, f"redirects more than {REDIRECTS} times"))

    def _take(self, one: Wanted, answer: Any, offset: int, state: dict[str, Any], cap: int | None) -> None:
        """Take the body of an answer, after its headers have been found to fit."""
        status, length = answer.status_code, answer.headers.get("Content-Length")
        length = int(length) if length is not None and length.isascii() and length.isdigit() else None
        said = f"{status} {answer.reason}".strip()
        if status in _AGAIN:
            raise _Again(f"answers {said}", _seconds(answer.headers.get("Retry-After")))
        if status == 416 and offset:
            if offset == state.get("total"):
                return
            self.part.unlink()
            raise _Again(f"ends after {offset} of {state.get('total')} bytes")
        if status == 206 and offset:
            match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            total = int(match[3]) if match and match[3] != "*" else None
            fits = match and int(match[1]) == offset and state.get("total") in (None, total)
            if not fits or (length is not None and length != int(match[2]) + 1 - offset):
                self.part.unlink()
                raise _Again(f"answers a request for bytes {offset}- with {answer.headers.get('Content-Range')!r}")
            self._joined = True
        elif status == 200:
            self.part.unlink(missing_ok=True)
            offset, total = 0, length
        else:
            raise (Gone if status in (404, 410) else DataError)(Problem(one.url, f"answers {said}"))
        if cap is not None and total is not None and total > cap:
            raise TooLarge(total)
        chunked = "chunked" in answer.headers.get("Transfer-Encoding", "").lower()
        if total is None and not chunked and not one.sha256:
            what = "comes from a server that says neither how long it is nor where it ends"
            raise DataError(Problem(one.url, what, "Name its sha256 in the recipe: then it is known when it is whole."))
        if status == 200:
            strong = answer.headers.get("ETag", "")
            validator = strong if strong and not strong.startswith("W/") else answer.headers.get("Last-Modified")
            state.update(validator=validator, total=total)
            self._write(state)
        self._pour(lambda: answer.raw.read(_PIECE, decode_content=False), offset, cap)
        if total is not None and self._received() != total:
            raise _Again(f"ends after {self._received()} of {total} bytes")

    def _pour(self, read: Callable[[], bytes], offset: int, cap: int | None) -> None:
        with open(self.part, "ab" if offset else "wb") as file:
            while piece := read():
                if self.stop.is_set():
                    raise Stopped
                with limits.writing(self.folder, ELSEWHERE):
                    file.write(piece)
                    file.flush()
                offset += len(piece)
                self.advance(len(piece))
                if cap is not None and offset > cap:
                    raise TooLarge(None)

    # everything else

    def _from_fsspec(self, one: Wanted, state: dict[str, Any], cap: int | None) -> None:
        system, path = file_system(one.address)
        try:
            info = system.info(path)
            size, validator = info.get("size"), _token(system, path)
            if info.get("type") == "directory":
                raise DataError(Problem(one.url, "is a folder, not a file", "Name its files, or a pattern: folder/*."))
            if cap is not None and size is not None and size > cap:
                raise TooLarge(size)
            offset = self._received()
            if offset and (state.get("validator") != validator or offset > (size or 0)):
                self.part.unlink()
                offset = 0
            state.update(validator=validator, total=size)
            self._write(state)
            with system.open(path, "rb") as file:
                file.seek(offset)
                self._joined = offset > 0
                self._pour(lambda: file.read(_PIECE), offset, cap)
            if _token(system, path) != validator:
                self.part.unlink()
                raise _Again("changes while it is read")
        except FileNotFoundError:
            raise Gone(Problem(one.url, "there is no such file")) from None
        except PermissionError as error:
            raise DataError(Problem(one.url, f"may not be read: {_reason(error)}")) from None
        except OSError as error:
            raise _Again(f"breaks off: {_reason(error)}") from None
        if size is not None and self._received() != size:
            raise _Again(f"ends after {self._received()} of {size} bytes")


def allowed(host: str, scheme: str, hosts: tuple[str, ...]) -> bool:
    """Whether a host, with its port where that is not the scheme's own, is one of a list; *.x is all below x."""
    own = f":{443 if scheme == 'https' else 80}"
    host = host.rpartition("@")[2].lower().removesuffix(own)
    return any(host == one.removesuffix(own) or (one.startswith("*.") and fnmatchcase(host, one)) for one in hosts)


def file_system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path on it; raises ConfigError where its library is missing."""
    try:
        import fsspec
    except ImportError:
        raise _missing("fsspec", "fetch") from None
    try:
        return fsspec.core.url_to_fs(address)
    except ImportError as error:
        extra = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}.get(urlsplit(address).scheme)
        if extra:
            raise _missing({"s3": "s3fs", "gcs": "gcsfs"}[extra], extra, written(address)) from None
        raise ConfigError(Problem(written(address), f"needs a library that is not installed: {error}")) from None


def _missing(library: str, extra: str, where: str = "fetch") -> ConfigError:
    return missing(library, extra, where)


def _requests() -> Any:
    try:
        import requests
    except ImportError:
        raise _missing("requests", "fetch") from None
    return requests


def _token(system: Any, path: str) -> str:
    """Return what changes when a file does: its etag, or its size and time."""
    try:
        return str(system.ukey(path))
    except NotImplementedError:
        return json.dumps(system.info(path), sort_keys=True, default=str)


def _reason(error: BaseException) -> str:
    """The innermost reason, without addresses of objects and what signs a URL."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return in_text(re.sub(r"<[^>]* at 0x[0-9a-f]+>:? ?", "", text)) or type(error).__name__


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; a date is not waited for by the clock of this machine."""
    return float(header) if header and header.isascii() and header.isdigit() else None


def _hashed(path: Path) -> tuple[str, int]:
    if not path.exists():
        path.touch()  # an empty file came
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size


def _git_sha1(path: Path, size: int) -> str:
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
