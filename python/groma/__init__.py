"""groma from Python: measure, and read what was measured.

    >>> import groma
    >>> run = groma.run("syscall", budget="5s")
    >>> run["syscall.getppid"].value          # seconds; None where there is none, and .reason says why
    >>> run.to_pandas()                       # a row for each metric

This module starts the program `groma` and reads its JSON. It measures nothing itself, and needs
nothing but Python: pandas, polars and pyarrow are imported only by the methods named after them.
All values are in SI units: seconds, bytes per second.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

__all__ = ["Error", "Metric", "Run", "compare", "load", "program", "run", "runs"]

PathLike = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """The program's own reason, and its exit code (None if it did not start)."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


@dataclass(frozen=True)
class Metric:
    """One metric of a run: its headline with what is needed to trust it.

    `state` is ok, noisy, unresolved, unsupported, denied, timeout or failed; `reason` says why it
    is not ok. `interval` is the exact 95 % interval over rounds, None below six rounds.
    """

    id: str
    params: Mapping[str, Union[int, str]]
    placement: str
    workers: int
    state: str
    reason: str
    value: float | None
    interval: tuple[float, float] | None
    unit: str
    quantity: str
    better: str
    rounds: int
    samples: int
    flags: tuple[str, ...]
    summary: str
    version: int
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """Its id with what distinguishes it from others of that id: `mem.latency size=64 KiB`."""
        words = [self.id, self.raw.get("params_text", "")]
        if self.placement != "pinned":
            words.append(self.placement)
        if self.workers != 1:
            words.append(f"P={self.workers}")
        return " ".join(word for word in words if word)

    @property
    def is_measured(self) -> bool:
        """Whether the value can be used: `ok`, or `noisy`, which is less precise."""
        return self.state in ("ok", "noisy") and self.value is not None

    @staticmethod
    def _of(raw: Mapping[str, Any]) -> Metric:
        interval = raw.get("ci")
        return Metric(
            id=raw["id"],
            params=raw["params"],
            placement=raw["placement"],
            workers=raw["workers"],
            state=raw["state"],
            reason=raw["reason"],
            value=raw["value"],
            interval=(interval[0], interval[1]) if interval else None,
            unit=raw["unit"],
            quantity=raw["quantity"],
            better=raw["better"],
            rounds=raw["rounds"],
            samples=raw["samples"],
            flags=tuple(raw["flags"]),
            summary=raw["summary"],
            version=raw["version"],
            raw=raw,
        )


@dataclass(frozen=True)
class Run:
    """A run: the machine and its metrics, in the order in which they were planned."""

    head: Mapping[str, Any] = field(repr=False)
    metrics: tuple[Metric, ...] = field(repr=False)
    end: Mapping[str, Any] | None = field(repr=False)
    id: str = ""

    @property
    def started(self) -> datetime:
        """When it began, in UTC."""
        return datetime.fromisoformat(self.head["started"].replace("Z", "+00:00"))

    @property
    def facts(self) -> dict[str, str]:
        """What the machine declares: `facts["cpu.model"]`."""
        return {fact["key"]: fact["value"] for fact in self.head["environment"]}

    def __iter__(self) -> Iterator[Metric]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def select(self, *words: str) -> list[Metric]:
        """Metrics by id or by group: `select("syscall", "mem.latency")`."""
        return [one for one in self.metrics if any(one.id == w or one.id.startswith(w + ".") for w in words)]

    def __getitem__(self, name: str) -> Metric:
        """The metric of this id or name. KeyError says which there are if it is none or several."""
        found = [one for one in self.metrics if name in (one.id, one.name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{name} was measured at {len(found)} points: " + ", ".join(one.name for one in found[:20]))
        ids = sorted({one.id for one in self.metrics})
        raise KeyError(f"run {self.id} holds no {name}; it holds {', '.join(ids[:20])}")

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each metric, with a column `param.NAME` for each parameter of any."""
        names = sorted({name for one in self.metrics for name in one.params})
        return [self._row(one, names) for one in self.metrics]

    def _row(self, one: Metric, names: Iterable[str]) -> dict[str, Any]:
        low, high = one.interval or (None, None)
        row: dict[str, Any] = {
            "run": self.id,
            "host": self.facts.get("host.name"),
            "id": one.id,
            "name": one.name,
            "placement": one.placement,
            "workers": one.workers,
            "state": one.state,
            "reason": one.reason,
            "value": one.value,
            "low": low,
            "high": high,
            "unit": one.unit,
            "better": one.better,
            "rounds": one.rounds,
            "samples": one.samples,
        }
        # A parameter may be a number of one benchmark and a word of another: a column has one type.
        row.update({f"param.{name}": None if name not in one.params else str(one.params[name]) for name in names})
        return row

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of rows()."""
        return _needs("pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A polars.DataFrame of rows()."""
        return _needs("polars").DataFrame(self.rows(), infer_schema_length=None)

    def to_arrow(self) -> Any:
        """A pyarrow.Table of rows()."""
        return _needs("pyarrow").Table.from_pylist(self.rows())

    @staticmethod
    def _of(document: Mapping[str, Any]) -> Run:
        head = document["run"]
        metrics = tuple(Metric._of(raw) for raw in document["metrics"])
        return Run(head=head, metrics=metrics, end=document.get("end"), id=head["run"])


def program() -> str:
    """The program that is started: $GROMA_PROGRAM, that of this package, or the one of the PATH."""
    named = os.environ.get("GROMA_PROGRAM")
    if named:
        return named
    scripts = [sysconfig.get_path("scripts")]
    if "posix_user" in sysconfig.get_scheme_names():
        scripts.append(sysconfig.get_path("scripts", "posix_user"))
    found = shutil.which("groma", path=os.pathsep.join(scripts)) or shutil.which("groma")
    if found is None:
        raise Error("no program groma: install the package with pip, or set GROMA_PROGRAM")
    return found


def _needs(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise Error(f"{module} is not installed: pip install {module}") from missing


def _call(words: Sequence[str], allowed: Sequence[int] = (0,)) -> str:
    """Standard output of the program. Its standard error is the reason of an error."""
    try:
        ended = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise Error(f"{error.filename}: {error.strerror}") from error
    if ended.returncode not in allowed:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else f"groma {words[0]} ended with code {ended.returncode}"
        raise Error(reason[len("groma: "):] if reason.startswith("groma: ") else reason, ended.returncode)
    return ended.stdout


def run(
    *select: str,
    budget: str | None = None,
    profile: str | None = None,
    params: Mapping[str, Any] | None = None,
    parallel: Iterable[int] = (),
    threads: bool = False,
    store: Union[bool, PathLike] = False,
    options: Sequence[str] = (),
) -> Run:
    """Measures: `run("syscall", budget="5s")`; without names the survey of `groma run`.

    `params` holds values or lists of them: `{"size": ["64K", "1M"]}`. `store` is True for the usual
    store or the path of one. `options` are passed on as they are. A metric that cannot be measured
    here is no exception but has a state and a reason.
    """
    words = ["run", *select, "--out", "-"]
    if budget is not None:
        words += ["--budget", budget]
    if profile is not None:
        words += ["--profile", profile]
    for name, value in (params or {}).items():
        several = value if isinstance(value, (list, tuple)) else [value]
        words += ["--param", f"{name}={','.join(str(one) for one in several)}"]
    if parallel:
        words += ["--parallel", ",".join(str(n) for n in parallel)]
    if threads:
        words.append("--threads")
    if store is False:
        words.append("--no-store")
    elif store is not True:
        words += ["--store", os.fspath(store)]
    # 4: something failed, and the rest was measured.
    found = _stream(_call([*words, *options], allowed=(0, 4)))
    if not found:
        raise Error("the run began and wrote nothing")
    return found[-1]


def _stream(text: str) -> list[Run]:
    """The runs of a stream that has records."""
    documents: list[dict[str, Any]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        one = json.loads(line)
        kind = one.get("kind")
        if kind == "run":
            documents.append({"run": one, "metrics": []})
        elif documents and kind == "metric":
            documents[-1]["metrics"].append(one)
        elif documents and kind == "end":
            documents[-1]["end"] = one
    return [Run._of(document) for document in documents]


def runs(source: PathLike | None = None) -> list[Run]:
    """All runs of a store, a stream or a result file of lmbench; of the usual store without a name."""
    if source is None:
        return _of_store([])
    path = Path(source)
    try:
        with open(path, "rb") as file:
            begun = file.read(16)
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from error
    if begun.startswith(b"SQLite format 3"):
        return _of_store(["--store", os.fspath(path)])
    if begun.lstrip().startswith(b"{"):
        try:
            found = _stream(path.read_text(encoding="utf-8-sig"))
        except (ValueError, KeyError):
            found = []
        if found and all(one.metrics for one in found):
            return found
    # Rounds, captures, files of lmbench: the program reads them.
    with tempfile.TemporaryDirectory() as place:
        store = os.path.join(place, "import.db")
        _call(["import", "--store", store, os.fspath(path)])
        return _of_store(["--store", store])


def _of_store(words: list[str]) -> list[Run]:
    listed = json.loads(_call(["runs", "--json", *words]))
    listed.sort(key=lambda one: one["started"])
    return [Run._of(json.loads(_call(["show", one["run"], "--json", *words]))) for one in listed]


def load(source: PathLike = "latest", store: PathLike | None = None) -> Run:
    """One run: by its id, a tag, `latest`, `host:NAME`, or the newest of a file."""
    if os.path.exists(source):
        found = runs(source)
        if not found:
            raise Error(f"{source}: holds no run")
        return found[-1]
    words = [] if store is None else ["--store", os.fspath(store)]
    return Run._of(json.loads(_call(["show", os.fspath(source), "--json", *words])))


def compare(a: str, b: str, store: PathLike | None = None) -> dict[str, Any]:
    """What `groma compare A B --json` says: verdicts, and what differs between the machines."""
    words = [] if store is None else ["--store", os.fspath(store)]
    found: dict[str, Any] = json.loads(_call(["compare", a, b, "--json", *words]))
    return found
