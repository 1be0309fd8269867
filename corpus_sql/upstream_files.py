"""From a recipe to the list of files that it names: patterns are looked up, revisions become commits.

What `hf://` names is listed by huggingface_hub and fetched like any other file of a web server, so that redirects,
hosts and hashes are under the same rules.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from corpus_sql.downloading import TRIES, WAIT, Wanted, file_system
from corpus_sql.errors import ConfigError, DataError, Problem, missing
from corpus_sql.recipes import WEB, Recipe, Repository
from corpus_sql.written_urls import in_text, written

# Where the hub's own servers redirect to for large files
HUB_HOSTS = ("*.hf.co", "*.huggingface.co")


class Listed(NamedTuple):
    """The files of a source in the order in which they are read. revision: as it was resolved."""

    revision: str | None
    files: list[Wanted]


def find(recipe: Recipe, pinned: str | None, *, sleep: Callable[[float], object] = time.sleep) -> Listed:
    """Return the files that a recipe names. pinned: the commit that an earlier fetch resolved the revision to.

    Raises ConfigError for patterns without files and for what is not there, DataError where the host does not answer.
    """
    if recipe.repository:
        return _hub(recipe, recipe.repository, pinned, sleep)
    hosts = tuple(urlsplit(url).netloc.lower() for url in recipe.urls if urlsplit(url).scheme in WEB) + recipe.hosts
    files, problems = [], []
    for url in recipe.urls:
        web = urlsplit(url).scheme in WEB
        if web or not any(sign in url for sign in "*?["):
            files.append(Wanted(written(url), url, _name(url, url), hosts))
            continue
        system, path = file_system(url)
        found = sorted((str(one) for one in system.glob(path)), key=str.encode)
        found = [one for one in found if system.isfile(one)]
        if not found:
            problems.append(Problem(recipe.where, f"{written(url)} matches no file"))
        files += [Wanted(written(one), one, _name(one, url), hosts) for one in map(system.unstrip_protocol, found)]
    twice = [url for url, count in Counter(one.url for one in files).items() if count > 1]
    fix = "Each file is read once, and a key, token or signature tells no file from another."
    problems += [Problem(recipe.where, f"{url} is named twice", fix) for url in twice]
    if problems:
        raise ConfigError(problems)
    return Listed(recipe.revision, files)


def path_of(url: str) -> str:
    """Return the path of a URL as a person would read it; of hf:// the path in the data set."""
    if url.startswith("hf://"):
        return unquote(url.split("/", 5)[-1])
    return unquote(urlsplit(url).path)


def _name(url: str, asked: str) -> str:
    """Where it lies on this machine says nothing about a file; how it was published may."""
    path = path_of(url)
    if not url.startswith("file:"):
        return path
    folder = re.split(r"[*?[]", path_of(asked))[0].rpartition("/")[0]
    return path.removeprefix(folder + "/")


def _hub(recipe: Recipe, repository: Repository, pinned: str | None, sleep: Callable[[float], object]) -> Listed:
    try:
        import huggingface_hub as hub
    except ImportError:
        raise missing("huggingface_hub", "fetch", "hf://") from None
    from fsspec.utils import glob_translate

    api = hub.HfApi()
    what = f"hf://datasets/{repository.name}@{repository.revision}"
    asked = _patiently(hub, what, sleep)
    commit = pinned or asked(lambda: api.dataset_info(repository.name, revision=repository.revision).sha)
    tree: Iterable[Any] = asked(
        lambda: list(api.list_repo_tree(repository.name, repo_type="dataset", revision=commit, recursive=True))
    )
    entries = {one.path: one for one in tree if isinstance(one, hub.hf_api.RepoFile)}
    host = urlsplit(api.endpoint).netloc.rpartition("@")[2].lower()
    own = HUB_HOSTS if any(host.endswith(one[1:]) or host == one[2:] for one in HUB_HOSTS) else ()
    headers = hub.utils.build_hf_headers(token=api.token)
    headers = {key: value for key, value in headers.items() if key.lower() == "authorization"}
    files: dict[str, Wanted] = {}
    for pattern in repository.patterns:
        fitting = re.compile(glob_translate(pattern))
        found = sorted((path for path in entries if fitting.match(path)), key=str.encode)
        if not found:
            what = f"{pattern} matches no file of {repository.name} at {commit}"
            raise ConfigError(Problem(recipe.where, what, _holds(entries)))
        for path in found:
            entry = entries[path]
            files.setdefault(
                path,
                Wanted(
                    url=f"hf://datasets/{repository.name}@{commit}/{path}",
                    address=f"{api.endpoint}/datasets/{repository.name}/resolve/{commit}/{quote(path)}",
                    name=path,
                    hosts=(host, *own, *recipe.hosts),
                    headers=headers,
                    sha256=entry.lfs.sha256 if entry.lfs else None,
                    git_sha1=None if entry.lfs else entry.blob_id,
                    bytes=entry.size,
                ),
            )
    return Listed(commit, list(files.values()))


def _holds(entries: dict[str, Any]) -> str:
    some = sorted(entries)[:5]
    return f"It holds {', '.join(some)}{', ...' if len(entries) > 5 else ''}." if some else "It holds no files."


def _patiently(hub: Any, where: str, sleep: Callable[[float], object]) -> Callable[[Callable[[], Any]], Any]:
    """Ask the hub, again where that may help."""

    def ask(question: Callable[[], Any]) -> Any:
        wait = WAIT
        for tries in range(1, TRIES + 1):
            try:
                return question()
            except (hub.errors.RepositoryNotFoundError, hub.errors.GatedRepoError):
                what = "is not there, or not for everybody"
                fix = "For a private or gated data set, log in with `hf auth login`."
                raise ConfigError(Problem(where, what, fix)) from None
            except hub.errors.RevisionNotFoundError:
                raise ConfigError(Problem(where, "has no such revision")) from None
            except Exception as error:  # of the HTTP library below, another one in each major version of the hub's
                status = getattr(getattr(error, "response", None), "status_code", None)
                if tries == TRIES or (status is not None and status < 500 and status != 429):
                    what = (
                        f"answers {status}"
                        if status
                        else f"cannot be asked: {in_text(' '.join(str(error).split()))[:200]}"
                    )
                    raise DataError(Problem(where, what, "Run it again later.")) from None
            sleep(wait)
            wait *= 2

    return ask
