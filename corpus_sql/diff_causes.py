"""What may have moved between two builds, from their records alone: config, models, code, model files, tools, files.

A cause is a dict {"cause", "key", "old", "new"}. Everything here is about distinct combinations, a handful of them; the
documents are counted and joined in SQL (diff_tracing).
"""

from __future__ import annotations

import json
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from corpus_sql import damaged, inputs
from corpus_sql import rules as all_rules
from corpus_sql.rules import Rule

Cause = dict[str, Any]
SIDES = ("a", "b")


class Facts:
    """The records of two builds, side by side: `a` is before, `b` after."""

    def __init__(self, a: Path, b: Path):
        self.builds = {
            side: damaged.read_object(folder, "_audit/build.json") for side, folder in zip(SIDES, (a, b), strict=True)
        }
        self.user = {
            side: tomllib.loads((folder / "config.toml").read_bytes().decode("utf-8-sig"))
            for side, folder in zip(SIDES, (a, b), strict=True)
        }
        self.ledgers = {side: inputs.rows(folder) for side, folder in zip(SIDES, (a, b), strict=True)}
        self.causes: list[Cause] = []

    def number(self, cause: Cause) -> int:
        """Return the number of a cause, a new one for a new cause."""
        if cause not in self.causes:
            self.causes.append(cause)
        return self.causes.index(cause)

    # what each build is made of

    def stages(self, side: str) -> list[str]:
        """Return the stages of a build, in order."""
        return self.builds[side]["config"]["stages"]

    def relation(self, side: str, name: str) -> dict[str, Any] | None:
        """Return what a relation was made from, None where the build has none of that name."""
        return self.builds[side]["relations"].get(name)

    @cached_property
    def files(self) -> dict[str, dict[str, list[str]]]:
        """side -> raw file -> [SHA-256, licence]."""
        return {side: self.builds[side]["relations"]["read.documents"]["files"] for side in SIDES}

    def same_sources(self) -> list[str]:
        """Return the sources whose raw files are the same in both builds: a line of them keeps its id."""
        if self.relation("a", "read.documents")["code"] != self.relation("b", "read.documents")["code"]:
            return []
        found = []
        for source in self.builds["b"]["config"]["sources"]:
            read = [
                sorted((f, one[0]) for f, one in self.files[side].items() if f.startswith(source + "/"))
                for side in SIDES
            ]
            if read[0] == read[1]:
                found.append(source)
        return found

    def differs(self, name: str) -> bool:
        """Say whether a relation, or anything it is made from, differs."""
        a, b = self.relation("a", name), self.relation("b", name)
        return a is None or b is None or a["fingerprint"] != b["fingerprint"]

    def closure(self, name: str, *, whole: bool = False) -> list[str]:
        """Return a relation and all that it is made from; not beyond another stage's decisions, unless `whole`."""
        found, waiting = [], [name]
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            found.append(one)
            if one != name and one.startswith("stages.") and not whole:
                continue
            for side in SIDES:
                waiting += (self.relation(side, one) or {}).get("inputs", {})
        return sorted(one for one in found if whole or one == name or not one.startswith(("stages.", "read.")))

    def measures(self, stage: str) -> list[str]:
        """Return the measures that a stage judges by."""
        return [one for one in self.closure(f"stages.{stage}") if one.startswith("measures.")]

    @cached_property
    def rules(self) -> dict[str, dict[tuple[str, str], Rule]]:
        """Side -> (stage, reason) -> the rule, of those with a bound in the config on a number that a measure holds."""
        found: dict[str, dict[tuple[str, str], Rule]] = {}
        for side in SIDES:
            columns = {
                stage: {column for name in self.measures(stage) for column, _ in self._columns(side, name)}
                for stage in self.stages(side)
            }
            found[side] = {
                (rule.stage, rule.reason): rule
                for rule in all_rules.of(self.builds[side])
                if rule.key and rule.metric in columns[rule.stage]
            }
        return found

    def _columns(self, side: str, name: str) -> list[tuple[str, str]]:
        relation = self.relation(side, name)
        return json.loads(relation["columns"]) if relation else []

    @cached_property
    def ledger(self) -> list[Cause]:
        """What the ledger says otherwise of the sources of both builds: `source field`, with old and new."""
        a, b = (self.ledgers[side] for side in SIDES)
        return [
            {"cause": "ledger", "key": f"{source} {field}", "old": old, "new": new}
            for source in sorted({*a} & {*b}, key=str.encode)
            for field, old, new in inputs.differences(a[source], b[source])
        ]

    # causes

    def config(self, key: str, lang: str | None = None) -> Cause | None:
        """Return the cause that a key of the config is, as it holds for a language; None where it is the same."""
        old, new = (self.value(side, key, lang) for side in SIDES)
        return None if old == new else {"cause": "config", "key": self.spelled(key, lang), "old": old, "new": new}

    def value(self, side: str, key: str, lang: str | None = None) -> Any:
        """Return the value of `table.key` or `key`; a language's table beats the general; null for none."""
        table, _, inner = key.rpartition(".")
        values = self.builds[side]["config"]
        if not table:
            return values.get(inner)
        values = values.get(table, {})
        if lang is not None and isinstance(values.get(lang), dict):
            return values[lang].get(inner)
        if lang is None and (
            found := {k: v.get(inner) for k, v in values.items() if isinstance(v, dict) and inner in v}
        ):
            return {"": values.get(inner), **found} if inner in values else found
        return values.get(inner)

    def spelled(self, key: str, lang: str | None) -> str:
        """Spell a key as the user's file does where that has changed: `gopher.min_n_words`, `gopher.zh.min_n_words`."""
        table, _, inner = key.rpartition(".")
        if not table or lang is None:
            return key
        tables = [self.user[side].get(table, {}) for side in SIDES]
        own = [table_.get(lang, {}).get(inner) for table_ in tables]
        if own[0] != own[1]:
            return f"{table}.{lang}.{inner}"
        general = [table_.get(inner) for table_ in tables]
        if general[0] != general[1]:
            return key
        built_in = any(isinstance(self.builds[side]["config"].get(table, {}).get(lang), dict) for side in SIDES)
        return f"{table}.{lang}.{inner}" if built_in else key

    def own(self, name: str, lang: str | None = None, *, bounds: bool = True) -> list[Cause]:
        """Return what moved in a relation itself, its inputs aside. bounds: the bounds of rules too."""
        a, b = self.relation("a", name), self.relation("b", name)
        if a is None or b is None:
            return [cause for key in ("stages", "split.method") if (cause := self.config(key))]
        found: list[Cause] = []
        query = "query" if "query" in a and "query" in b else "sql"  # the SQL without its comments, where both tell it
        if any(a.get(part) != b.get(part) for part in (query, "number", "stream", "columns", "model_files")):
            if a.get("template") != b.get("template"):
                found.append({"cause": "model", "key": name, "old": a.get("template"), "new": b.get("template")})
            keys = {*a.get("config", ()), *b.get("config", ())} - {"stages"}
            if not bounds:
                every = (*self.rules["a"].values(), *self.rules["b"].values())
                keys -= {rule.key for rule in every if name == f"stages.{rule.stage}"}
            for key in sorted(keys):
                files = [self.builds[side].get("model_files", {}).get(key) for side in SIDES]
                if files != [None, None]:
                    if files[0] != files[1]:
                        found.append({"cause": "model_file", "key": key, "old": files[0], "new": files[1]})
                elif cause := self.config(key, lang):
                    found.append(cause)
        for kind, part in (("udf", "udfs"), ("tool", "tools")):
            old, new = a.get(part, {}), b.get(part, {})
            # a function that only one build calls came or went with the model
            for key in sorted({*old} & {*new}):
                if old[key] != new[key]:
                    found.append({"cause": kind, "key": key, "old": old[key], "new": new[key]})
        return found

    def below(self, names: list[str], lang: str | None = None, *, bounds: bool = True) -> list[Cause]:
        """Return what moved in any of some relations, each cause once."""
        found: list[Cause] = []
        for name in names:
            found += [cause for cause in self.own(name, lang, bounds=bounds) if cause not in found]
        return found

    def reader(self, *, oversize: bool = True) -> list[Cause]:
        """Return what moved in the reader itself: its limit of a line, its code, its tools."""
        a, b = (self.relation(side, "read.documents") for side in SIDES)
        found = [cause for key in ("max_line_bytes",) if oversize and (cause := self.config(key))]
        if a["code"] != b["code"]:
            found.append({"cause": "tool", "key": "corpus-sql reader", "old": a["code"], "new": b["code"]})
        tools = {*a["tools"], *b["tools"]}
        found += [
            {"cause": "tool", "key": key, "old": a["tools"].get(key), "new": b["tools"].get(key)}
            for key in sorted(tools)
            if a["tools"].get(key) != b["tools"].get(key)
        ]
        return found

    def input(self, file: str) -> Cause:
        """Return the cause that a raw file is: its SHA-256 before and after, null where it was not read."""
        old, new = (self.files[side].get(file, [None])[0] for side in SIDES)
        return {"cause": "input", "key": file, "old": old, "new": new}

    def line(self, source: str, file: str) -> list[Cause]:
        """Say why a line of a source's file is in one build only."""
        sources = [self.builds[side]["config"]["sources"] for side in SIDES]
        if (source in sources[0]) != (source in sources[1]):
            return [{"cause": "config", "key": "sources", "old": sources[0], "new": sources[1]}]
        cause = self.input(file)
        return [cause] if cause["old"] != cause["new"] else self.reader()

    def text(self, file_a: str, file_b: str) -> list[Cause]:
        """Say why the raw text of a document differs."""
        old, new = self.files["a"].get(file_a, [None])[0], self.files["b"].get(file_b, [None])[0]
        return (
            [{"cause": "input", "key": file_b, "old": self.input(file_b)["old"] or old, "new": new}]
            if old != new
            else self.reader()
        )

    def quarantined(self, reason: str, file_a: str, file_b: str) -> list[Cause]:
        """Say why a line is a document in one build and quarantined for `reason` in the other."""
        (old, licence_a), (new, licence_b) = self.files["a"][file_a], self.files["b"][file_b]
        if old != new:
            return self.text(file_a, file_b)
        if reason == "license_mismatch" and licence_a != licence_b:
            source = file_b.partition("/")[0]
            return [{"cause": "ledger", "key": f"{source} license_spdx", "old": licence_a, "new": licence_b}]
        if reason == "oversize_line" and (cause := self.config("max_line_bytes")):
            return [cause]
        return self.reader(oversize=reason == "oversize_line")

    def scrubbed(self, kinds: list[str], file_a: str, file_b: str) -> list[Cause]:
        """Say why a text differs after the scrub and not before. kinds: those whose places differ."""
        if ("pii" in self.stages("a")) != ("pii" in self.stages("b")):
            return [self.config("stages")]
        listed = [set(self.value(side, "pii.kinds") or ()) for side in SIDES]
        if kinds and set(kinds) <= listed[0] ^ listed[1]:
            return [self.config("pii.kinds")]
        if not kinds and self.files["a"].get(file_a, [None])[0] != self.files["b"].get(file_b, [None])[0]:
            return self.text(file_a, file_b)
        return self.below(self.closure("outputs.scrubbed"))

    def split(self, was: str, now: str, same_text: bool, same_group: bool) -> tuple[list[Cause], str | None]:
        """Say why a document is in another split, and what else has to be asked: its `text` or its `group`."""
        if cause := self.config("split.method"):
            return [cause], None
        if self.value("b", "split.method") == "content_hash":
            found = self.below(["outputs.splits_by_content", "outputs.finals"])
            return found, None if same_text else "text"
        found = self.below(["outputs.splits_by_group"])
        shares = [cause for cause in found if cause["key"] in ("split.train", "split.validation", "split.test")]
        if shares:
            # train | validation | test: the first bound is the share of train, the second 1000 less that of test
            bound = "split.train" if "train" in (was, now) else "split.test"
            found = [cause for cause in found if cause not in shares]
            found += [cause] if (cause := self.config(bound)) else shares
        return found, None if same_group else "group"

    def moved_language(self, moved: list[str], same_text: bool) -> list[Cause]:
        """Say why a document is of another language; an empty list where the text alone says it."""
        if "measures.language" not in moved:
            return self.own("relations.languages")
        return (self.below(self.closure("measures.language")) if same_text else []) + self.own("relations.languages")

    def limit(self, rule: Rule, lang: str | None, threshold: float) -> str | None:
        """Return the language whose bound a rule compared with.

        A stage may judge a document by another language's table than its own, as repetition does for und; then it is
        the one that holds this threshold, zh first.
        """
        others = sorted(one for one in rule.limits if one)
        for one in [lang, *(["zh"] if "zh" in others else []), *others]:
            if rule.limit(one) == threshold:
                return one
        return lang

    def judged(
        self,
        stage: str,
        reason: str,
        other: str,
        *,
        key: str | None,
        langs: tuple[str | None, str | None],
        same_text: bool,
        by_value: bool | None,
        by_threshold: bool | None,
        same_value: bool | None,
        moved: list[str],
    ) -> tuple[list[Cause], bool]:
        """Say why a rule fired in one build and not in the other, and whether the text's own change is part of it.

        other: the side on which it did not fire. langs: the languages where it fired and where it did not.
        by_threshold: the other threshold alone, by_value: the other value alone makes the rule silent; None: unknown.
        same_value: the rule's metric has the same value on both sides. moved: measures whose row differs.
        """  # fmt: skip
        lang = langs[0]
        language = self.moved_language(moved, same_text) if langs[0] != langs[1] else []
        input_too = False
        found: list[Cause] = []
        if reason == "lang_not_kept":
            keep = self.value(other, "lang.keep") or ["*"]
            by_threshold, by_value = "*" in keep or lang in keep, langs[0] != langs[1]
            key, language_says = "lang.keep", True
        elif reason == "lang_undetermined":
            by_threshold, by_value = self.value(other, "lang.undetermined") == "keep", langs[0] != langs[1]
            key, language_says = "lang.undetermined", True
        else:
            language_says = False
        if key is not None and (by_threshold or by_value):
            if by_threshold:
                if langs[0] == langs[1] or language_says:
                    found += [cause] if (cause := self.config(key, lang)) else self.own(f"stages.{stage}", lang)
                else:
                    found += language + ([cause] if (cause := self.config(key, lang)) else [])
            if by_value:
                found += language if language_says else self._values(moved, lang)
                input_too = not same_text
            return _unique(found), input_too
        local = [
            one
            for one in self.closure(f"stages.{stage}")
            if one != "relations.languages" and (not one.startswith("measures.") or one in moved)
        ]
        # what only measures that did not move are made from has not moved this document either
        still = {one for name in self.measures(stage) for one in self.closure(name)} - {
            one for name in moved for one in self.closure(name)
        }
        if key is not None or same_value is not False:
            found += self.below(
                [one for one in local if one not in still and one not in moved], lang, bounds=key is not None
            )
        if moved or same_value is False:
            found += self._values(moved, lang)
        return _unique(found + language), not same_text

    def _values(self, moved: list[str], lang: str | None) -> list[Cause]:
        """What moved the measures of a document, besides its text."""
        return self.below(sorted({one for name in moved for one in self.closure(name)}), lang)

    def everything(self, name: str) -> list[Cause]:
        """Return all that moved above a relation: where no evidence tells more."""
        names = [one for one in self.closure(name, whole=True) if not one.startswith("read.")]
        found = self.below(names)
        if cause := self.config("stages"):
            found.append(cause)
        changed = sorted(
            file
            for file in {*self.files["a"], *self.files["b"]}
            if self.files["a"].get(file) != self.files["b"].get(file)
        )
        return _unique(found + self.reader() + [self.input(file) for file in changed])


def _unique(causes: list[Cause]) -> list[Cause]:
    found: list[Cause] = []
    for cause in causes:
        if cause not in found:
            found.append(cause)
    return found


def spelled(causes: list[Cause]) -> tuple[str, dict[str, Any]]:
    """Return (cause, detail) for the causes of one change: `several` unless it is one."""
    if len(causes) == 1:
        (one,) = causes
        return one["cause"], {key: one[key] for key in ("key", "old", "new")}
    return "several", {"causes": causes}
