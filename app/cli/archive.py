"""A backup as a file: a zip of every database, each as of one moment, and a manifest. No key, and nothing of `.env`.

The instances come first and the app's database last: its approvals hold the verdicts, so what an older ledger still
waits for has its verdict there. The other way round, a ledger could have let go of a call whose end is not in the
backup. The alarms come after that, to name every instance; a restored one rings them all, so none can be too late.
"""

import os
import re
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import msgspec

from app.domain import Refusal

FORMAT = 1
APP, ALARMS, MANIFEST = "triager.sqlite", "agents/alarms.sqlite", "manifest.json"
INSTANCE = re.compile(r"agents/([0-9a-f]{2})/\1[0-9a-f]{62}\.sqlite")
LOOKS = {APP: "SELECT version_num FROM alembic_version", ALARMS: "SELECT count(*) FROM alarms"}
LOOK_AT_INSTANCE = "SELECT count(*) FROM ledger"
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
    sqlite3.Error,
    msgspec.MsgspecError,
)


class Manifest(msgspec.Struct):
    format: int
    schema: str  # of the app's database
    made_at: str
    instances: int


def write(data_dir: Path, file: Path, now: str) -> dict[str, Any]:
    """Also beside a running host: SQLite's own backup reads one snapshot. Raises Refusal when the file is there."""
    if not (data_dir / APP).exists():
        raise Refusal(f"There is no database {data_dir / APP} to back up. Nothing was written.")
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Refusal(f"{file} cannot be made: {error.strerror}. Nothing was written.") from None
    try:
        with os.fdopen(opened, "wb") as out:
            manifest = _write(data_dir, out, now)
            out.flush()
            os.fsync(out.fileno())
    except BaseException as error:
        file.unlink()
        if isinstance(error, OSError | sqlite3.Error):
            raise Refusal(f"The backup failed: {error}. Nothing was written.") from None
        raise
    return {"file": str(file), "bytes": file.stat().st_size, **msgspec.to_builtins(manifest)}


def _write(data_dir: Path, out: BinaryIO, now: str) -> Manifest:
    instances = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, TemporaryDirectory(dir=data_dir) as folder:
        copy = Path(folder) / "copy.sqlite"
        for path in sorted((data_dir / "agents").glob("??/*.sqlite")):
            _copy(path, copy)
            archive.write(copy, path.relative_to(data_dir).as_posix())
            instances += 1
        _copy(data_dir / APP, copy)
        archive.write(copy, APP)
        schema = _one(copy, LOOKS[APP])
        if (data_dir / ALARMS).exists():
            _copy(data_dir / ALARMS, copy)
            archive.write(copy, ALARMS)
        manifest = Manifest(FORMAT, schema, now, instances)
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
    return manifest


def _copy(source: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as reading,
        closing(sqlite3.connect(to)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")  # the archive is synced in the end, once
        reading.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a -wal beside it


def unpack(file: Path, folder: Path) -> Manifest:
    """The archive's files below the folder, every one of them checked. Raises Refusal, and says what is wrong."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _unpack(archive, folder)
    except DAMAGE as error:
        raise Refusal(f"{file} is no whole backup: {error}. Nothing was restored.") from None


def _unpack(archive: zipfile.ZipFile, folder: Path) -> Manifest:
    names = archive.namelist()
    strange = [name for name in names if name not in (*LOOKS, MANIFEST) and not INSTANCE.fullmatch(name)]
    if strange or len(set(names)) < len(names) or not {APP, MANIFEST} <= set(names):
        raise zipfile.BadZipFile(f"it holds {strange[0]!r}" if strange else "a file is missing, or is there twice")
    manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    if manifest.format != FORMAT:
        raise ValueError(f"it has format {manifest.format}, and this is made for {FORMAT}")
    for name in names:
        archive.extract(name, folder)
    for name in names:
        if name != MANIFEST:
            _check(folder / name, name)
    (folder / MANIFEST).unlink()
    manifest.schema = _one(folder / APP, LOOKS[APP])
    return manifest


def _check(path: Path, name: str) -> None:
    if (found := _one(path, "PRAGMA integrity_check")) != "ok":
        raise zipfile.BadZipFile(f"{name} is damaged ({found})")
    _one(path, LOOKS.get(name, LOOK_AT_INSTANCE))


def _one(path: Path, query: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


def ring_all(folder: Path, now: str) -> None:
    """Every alarm rings at once: one may have been set further off than its instance's older database wants."""
    if (folder / ALARMS).exists():
        with closing(sqlite3.connect(folder / ALARMS, isolation_level=None)) as alarms:
            alarms.execute("UPDATE alarms SET at = ?, failures = 0", (now,))


def swap(data_dir: Path, new: Path, old: Path) -> None:
    """Move what is there to `old`, and `new` into its place. Nothing serves without the app's database: it goes first
    and comes last, so a half-done swap serves nothing, and can be done again.
    """
    os.sync()
    for path in sorted(installed(data_dir), key=_is_app, reverse=True):
        old.mkdir(mode=0o700, exist_ok=True)
        path.rename(old / path.name)
    for path in sorted(new.iterdir(), key=_is_app):
        path.rename(data_dir / path.name)


def installed(data_dir: Path) -> list[Path]:
    """The databases of an installation, and what SQLite keeps beside them."""
    return [path for path in data_dir.iterdir() if path.name == "agents" or _is_app(path)]


def _is_app(path: Path) -> bool:
    return path.name.startswith(APP)
