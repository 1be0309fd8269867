"""What a build lost that a user would want to be told of: a sentence each, with the query that shows the documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpus_sql.config import Config
from corpus_sql.engine_duckdb import DuckDB
from corpus_sql.model import quoted
from corpus_sql.pii_shown import without_pii
from corpus_sql.project import BUILT_IN
from corpus_sql.validation import counted

if TYPE_CHECKING:
    from corpus_sql.planning import Step

NOTHING = "nothing was kept"
FIRST = 5  # stages, sources or items that a notice names
TENTH = 0.1  # of what entered: who loses more is named
FEW = 10  # documents of a language, or that one item or n-gram dropped, below which nothing is said of them
LINE = 100  # code points of an n-gram that a notice quotes: a line of a terminal
# documents in which a quality rule or a kind of personal data should have matched something
MANY = 1000
# that these find nothing is what one hopes for, or what the config asks for: nothing to tell
_SILENT = ("lang", "exact_dedup", "near_dedup", "expansion", "pii", "ppl")

_FIRST_NGRAMS = """
    select
        hits[1].ngram as ngram,
        count(*) as n,
        min(hits[1].item),
        arg_min(hits[1].item_start_char, hits[1].item),
        count(*) filter (where len(list_filter(hits, lambda h: h.n_shared > 1 or h.ngram <> hits[1].ngram)) = 0)
    from decontaminate.scanned
    where
        hits is not null
        and id in (select id from outputs.decisions where stage = 'decontaminate' and reason = 'contaminated')
    group by ngram
    order by n desc, ngram
"""


def losses(engine: DuckDB, config: Config, steps: list[Step]) -> list[str]:
    """Return the notices of what was lost; that nothing was kept stands last."""
    stages = engine.values(
        "select stage, count(*), count(*) filter (where verdict <> 'keep') from outputs.decisions"
        " group by seq, stage order by seq"
    )
    found = [
        *_stages(stages),
        *_undetermined(engine, config),
        *_languages(engine),
        *_sources(engine),
        *_idle(config, steps, stages),
        *_unseen_pii(engine, config, steps),
        *_perplexity(engine, steps),
        *_items(engine),
        *_ngrams(engine, config),
    ]
    return [*found, *_nothing(stages)]


def percent(part: int, whole: int) -> str:
    """Spell a share with one digit."""
    return f"{100 * part / whole:.1f} %"


def _listed(said: list[str]) -> str:
    return ", ".join(said[:FIRST]) + (", …" if len(said) > FIRST else "")


def _stages(stages: list[tuple[str, int, int]]) -> Iterator[str]:
    high = sorted(
        (
            (stage, entered, lost)
            for stage, entered, lost in stages
            if lost > TENTH * entered and stage != "expansion"  # a whole text goes in favour of all its pieces
        ),
        key=lambda one: -one[2],
    )
    if high:
        first = high[0][0]
        table = "quarantine" if first == "read" else f"rejected where stage = {quoted(first)}"
        said = _listed([f"{stage} {percent(lost, entered)} ({lost:,})" for stage, entered, lost in high])
        yield f"lost more than a tenth of what entered: {said}; read some: from {table} order by md5(id) limit 20"


def _undetermined(engine: DuckDB, config: Config) -> Iterator[str]:
    ((n, documents),) = engine.values("select count(*) filter (where lang = 'und'), count(*) from relations.languages")
    if n > TENTH * documents:
        is_lost = "lang" in config.stages and config.values["lang"]["undetermined"] == "reject"
        where = "rejected where reason = 'lang_undetermined'" if is_lost else "documents where lang = 'und'"
        yield (
            f"the language of {percent(n, documents)} of the documents ({n:,}) was not determined (und); "
            f"look at them: from {where} order by md5(id) limit 20"
        )


def _languages(engine: DuckDB) -> Iterator[str]:
    """Languages that a stage treats worse than the rest: its thresholds may not suit them."""
    rows = engine.values(
        "select seq, stage, lang, count(*), count(*) filter (where verdict <> 'keep') from outputs.decisions"
        " join relations.languages using (id) where stage not in ('read', 'lang') and lang <> 'und'"
        " group by seq, stage, lang order by seq, lang"
    )
    whole: dict[str, tuple[int, int]] = {}
    for _, stage, _, entered, lost in rows:
        before = whole.get(stage, (0, 0))
        whole[stage] = (before[0] + entered, before[1] + lost)
    worse = []
    for _, stage, lang, entered, lost in rows:
        others = whole[stage][0] - entered, whole[stage][1] - lost
        if (
            entered >= FEW
            and lost > TENTH * entered
            and others[0] >= FEW
            and lost * others[0] > 2 * others[1] * entered
        ):
            worse.append((-lost, f"{stage} {percent(lost, entered)} of {lang} ({lost:,}), "
                                 f"{percent(others[1], others[0])} of the others"))  # fmt: skip
    if worse:
        said = "; ".join(text for _, text in sorted(worse)[:FIRST])
        yield f"a language lost more than twice what the others did: {said}"


def _sources(engine: DuckDB) -> Iterator[str]:
    rows = engine.values(
        "select source_id, stage, count(*) as n, sum(count(*)) over (partition by source_id) as documents"
        " from outputs.ends join read.documents using (id)"
        " where source_id not in (select source_id from outputs.ends join read.documents using (id)"
        " where verdict = 'keep') group by source_id, stage order by documents desc, source_id, n desc, stage"
    )
    most: dict[str, str] = {}
    for source, stage, _, documents in rows:
        most.setdefault(source, f"{source} ({counted(int(documents), 'document')}, most lost by {stage})")
    ((sources,),) = engine.values("select count(distinct source_id) from read.documents")
    if most and len(most) < sources:  # where all are gone, that is told
        yield f"nothing is kept of {counted(len(most), 'source')}: {_listed(list(most.values()))}"


def _idle(config: Config, steps: list[Step], stages: list[tuple[str, int, int]]) -> Iterator[str]:
    own = {
        step.compiled.model.stem
        for step in steps
        if step.compiled and step.compiled.model.folder == "stages" and step.compiled.model.layer != BUILT_IN
    }
    idle = [
        f"{stage} in {counted(entered, 'document')}"
        for stage, entered, lost in stages
        if not lost and entered and stage in config.stages and stage not in _SILENT
        if stage in own or stage == "decontaminate" or entered >= MANY
    ]
    if idle:
        yield f"matched nothing: {_listed(idle)}"


def _unseen_pii(engine: DuckDB, config: Config, steps: list[Step]) -> Iterator[str]:
    (pii,) = [step.compiled.sql for step in steps if step.name == "outputs.pii"]
    ((entered,),) = engine.values("select count(*) from outputs.decisions where stage = 'pii'")
    if not entered:
        return
    seen = {kind for (kind,) in engine.values(f"select distinct kind from ({pii}) as pii")}
    unseen = [kind for kind in config.values["pii"]["kinds"] if kind not in seen]
    if unseen and (not seen or entered >= MANY):
        yield f"pii found none of these kinds in {counted(entered, 'document')}: {', '.join(unseen)}"


def _perplexity(engine: DuckDB, steps: list[Step]) -> Iterator[str]:
    if any(step.name == "measures.perplexity" for step in steps) and any(step.name == "stages.ppl" for step in steps):
        ((measured, documents),) = engine.values("select count(perplexity), count(*) from measures.perplexity")
        if documents and not measured:
            yield f"ppl let all pass: perplexity was measured for none of {counted(documents, 'document')}"


def _items(engine: DuckDB) -> Iterator[str]:
    rows = engine.values(
        "select witness, count(*) as n, sum(count(*)) over () as dropped from outputs.decisions"
        " where reason = 'contaminated' group by witness order by n desc, witness"
    )
    many = [(item, n) for item, n, dropped in rows if n >= FEW and n > TENTH * int(dropped)]
    if many:
        said = _listed([f"{item} {n:,}" for item, n in many])
        yield (
            f"one protected item dropped many of {counted(int(rows[0][2]), 'contaminated document')}: {said}; "
            f"read some: from decisions where witness = {quoted(many[0][0])} limit 20"
        )


def _ngrams(engine: DuckDB, config: Config) -> Iterator[str]:
    """N-grams that many documents share first: a common phrase, say, or an item copied as a whole."""
    if "decontaminate" not in config.stages:
        return
    rows = engine.values(_FIRST_NGRAMS)
    dropped = sum(n for _, n, *_ in rows)
    many = [row for row in rows if row[1] >= FEW and row[1] > TENTH * dropped]
    if many:
        where = f"item = {quoted(many[0][2])} and item_start_char = {many[0][3]}"
        said = [_shared(*row, of=dropped, text=config.values["keep_rejected_text"]) for row in many[:FIRST]]
        yield "; ".join(said) + f"; read some: from contamination where {where} limit 20"


def _shared(ngram: str, n: int, item: str, start: int, alone: int, *, of: int, text: bool) -> str:
    """Say of an n-gram in how many documents it is the first that they share, and in how many the only one."""
    called = f"the {ngram.count(' ') + 1}-gram " + (_line(ngram) if text else f"of {item} from character {start:,} on")
    if alone == n:
        return f"{called} alone dropped {n:,} of {counted(of, 'contaminated document')}"
    rest = f", the only one in {alone:,}" if alone else ""
    return f"{called} is the first shared one in {n:,} of {counted(of, 'contaminated document')}{rest}"


def _line(text: str) -> str:
    """Quote the beginning of a text without personal data."""
    whole = without_pii(text[: 4 * LINE], cut=len(text) > 4 * LINE)
    more = len(whole) > LINE or len(text) > 4 * LINE
    return f'"{whole[: LINE - 1] if more else whole}{"…" if more else ""}"'


def _nothing(stages: list[tuple[str, int, int]]) -> Iterator[str]:
    """The last stage that documents entered, and what it did."""
    entered = [one for one in stages if one[1]]
    if not entered:
        yield f"{NOTHING}: the raw files hold no document"
    elif entered[-1][1] == entered[-1][2]:
        stage, _, lost = entered[-1]
        last = "the only one" if lost == 1 else f"all {lost:,}"
        said = "no line could be read as a document" if stage == "read" else f"{stage} dropped {last} that entered it"
        yield f"{NOTHING}: {said}"
