"""Results of iodyno as data frames.

>>> import iodyno
>>> runs = iodyno.load("before", "after")            # stored runs, files, folders
>>> runs[["run_name", "measurement", "iodepth", "iops"]]
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any, Literal, Union, overload

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["IodynoError", "binary", "load"]

Source = Union[str, "os.PathLike[str]"]


class IodynoError(Exception):
    """iodyno refused; the text is what it printed."""


def binary() -> str:
    """The program of this installation, else the one in PATH.

    Raises FileNotFoundError where there is none.
    """
    own = os.path.join(sysconfig.get_path("scripts"), "iodyno")
    found = own if os.access(own, os.X_OK) else shutil.which("iodyno")
    if found is None:
        raise FileNotFoundError("no program iodyno beside this Python, nor in PATH")
    return found


@overload
def load(*sources: Source, engine: Literal["pandas"] = "pandas") -> pandas.DataFrame: ...
@overload
def load(*sources: Source, engine: Literal["polars"]) -> polars.DataFrame: ...
def load(*sources: Source, engine: Literal["pandas", "polars"] = "pandas") -> Any:
    """Reads results into a data frame of pandas or polars.

    A source is a stored run (id, name or "last"), a file that iodyno reads (its JSON, fio's output, a
    store, a report; compressed, too), or a folder of these: one row for each direction of each
    measurement, with the columns of `iodyno runs export --format parquet`. Files that end in .parquet are
    read as they are, those in .ndjson (`--stream`) as one row for each line, with `jobs` and `drives` nested.

    Raises IodynoError where iodyno cannot read it, ImportError without the engine; that of pandas
    needs pyarrow.
    """
    if not sources:
        raise TypeError("load() needs a run, a file or a folder")
    names = [os.fspath(source) for source in sources]
    if engine == "polars":
        import polars as frames
    elif engine == "pandas":
        import pandas as frames
    else:
        raise ValueError(f"engine is 'pandas' or 'polars', not {engine!r}")

    def concatenated(read: Any) -> Any:
        parts = [read(name) for name in names]
        if len(parts) == 1:
            return parts[0]
        if engine == "polars":
            return frames.concat(parts, how="diagonal_relaxed")
        return frames.concat(parts, ignore_index=True)

    if all(name.endswith(".parquet") for name in names):
        return concatenated(frames.read_parquet)
    if all(name.endswith(".ndjson") for name in names):
        if engine == "polars":
            return concatenated(lambda name: frames.read_ndjson(name, infer_schema_length=None))
        return concatenated(lambda name: frames.read_json(name, lines=True))
    done = subprocess.run(
        [binary(), "runs", "export", "--format", "parquet", "--", *names], capture_output=True, check=False
    )
    if done.returncode != 0:
        raise IodynoError(done.stderr.decode(errors="replace").strip())
    return frames.read_parquet(io.BytesIO(done.stdout))
