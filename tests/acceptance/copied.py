"""A copy of the sources in an empty folder, and the commands that a developer of it runs there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from config.settings import ROOT

LEFT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", ".env", "var", "__pycache__")
INHERITED = {"VIRTUAL_ENV", "DATA_DIR", "APP_KEY", "HOST", "PORT", "PYTEST_ADDOPTS", "PYTHONPATH"}


class Copy:
    """With the environment of these very tests: nothing is installed, and nothing downloaded."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "copy"
        shutil.copytree(ROOT, self.root, ignore=LEFT)
        self._types = folder / "types"  # what mypy knows already, so that it looks at little more than what is new
        shutil.copytree(ROOT / ".mypy_cache", self._types) if (ROOT / ".mypy_cache").exists() else self._types.mkdir()

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.root).as_posix(): path.read_text()
            for path in self.root.rglob("*")
            if path.suffix in {".py", ".new"}
        }

    def run(self, *module: str, **environ: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in INHERITED}
        command = [sys.executable, "-m", *module]
        return subprocess.run(
            command, cwd=self.root, env={**kept, **environ}, capture_output=True, text=True, check=False, timeout=600
        )

    def passes(self, *module: str, **environ: str) -> str:
        done = self.run(*module, **environ)
        assert done.returncode == 0, f"{' '.join(module)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def is_clean(self, *paths: str) -> None:
        """Formatted and linted; and all of it typed."""
        self.passes("ruff", "format", "--check", *paths)
        self.passes("ruff", "check", *paths)
        self.passes("mypy", "--cache-dir", str(self._types))

    def found_by_check(self) -> list[dict[str, Any]]:
        """What `triager check` finds. Its sums are another matter: they grow with everything that is added."""
        document = json.loads(self.run("app.cli", "check", "--json").stdout)
        return [one for one in document["findings"] if one["rule"] != "size"]
