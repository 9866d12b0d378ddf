"""The interpreter as workerd reads it from disk: npm's Pyodide, with its glue bound to workerd's own wrappers.

The isolate refuses eval, WebAssembly compiled on the spot, and clocks and randomness at import. So the glue must call
what workerd exports in their place. How often each call stands there is asserted: another Pyodide fails here, loudly.
"""

import re
from pathlib import Path
from typing import Any

PREFIX = "pyodideRuntime-internal:"
SCHEMA = """@0xa1b5f8c3d2e4f607;
struct Bundle { modules @0 :List(Module); }
struct Module {
  name @0 :Text;
  union {
    src @1 :Data;
    wasm @4 :Data;
    data @5 :Data;
    json @6 :Text;
  }
  type @2 :ModuleType;
  declaration @3 :Text;
  cache @7 :Data;
}
enum ModuleType { bundle @0; builtin @1; internal @2; }
"""
PRELUDE = """\
import { newWasmModule, wasmInstantiate, monotonicDateNow, getRandomValues, patchedLoadLibData }
  from "pyodide-internal:builtin_wrappers";
const location = undefined;
function addEventListener() {}
function noEval() { throw new Error("Emscripten's glue tried to eval"); }
"""
LOAD_LIBRARY = """function loadLibData(){
  var found=patchedLoadLibData(Module,libName,flags.rpath);return flags.loadAsync?Promise.resolve(found):found;
"""
CALLS = (  # what stands in the glue, what is called in its place, how often
    (r"new WebAssembly\.Module\(", "newWasmModule(", 4),
    (r"WebAssembly\.instantiate\(", "wasmInstantiate(", 2),
    (r"\bDate\.now\(\)", "monotonicDateNow()", 22),
    (r"crypto\.getRandomValues\(view\)", "getRandomValues(Module,view)", 1),
    (r"(?<![\w.])eval\(", "noEval(", 6),
    (r"function loadLibData\(\)\{", LOAD_LIBRARY, 1),
    (r"alignMemory\(getMemory\(", "alignMemory(Module.getMemoryPatched(Module,libName,", 1),
    (r"export default _createPyodideModule;", "export{_createPyodideModule};export default _createPyodideModule;", 1),
)


def glue(text: str) -> str:
    """Raises ValueError naming the call that does not stand there as often as it did."""
    for pattern, replacement, times in CALLS:
        text, found = re.subn(pattern, replacement, text)
        if found != times:
            raise ValueError(f"{pattern} stands {found} times in pyodide.asm.mjs, not {times}. Pin another Pyodide.")
    return PRELUDE + text


def write(pyodide: Path, target: Path) -> None:
    """One Cap'n Proto message with three internal modules."""
    modules = (
        ("pyodide.asm", "src", glue((pyodide / "pyodide.asm.mjs").read_text()).encode()),
        ("pyodide.asm.wasm", "wasm", (pyodide / "pyodide.asm.wasm").read_bytes()),
        ("python_stdlib.zip", "data", (pyodide / "python_stdlib.zip").read_bytes()),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    schema = target.with_name("bundle.capnp")
    schema.write_text(SCHEMA)
    message = _load(schema).Bundle.new_message()
    listed = message.init("modules", len(modules))
    for place, (name, kind, content) in zip(listed, modules, strict=True):
        place.name, place.type = PREFIX + name, "internal"
        setattr(place, kind, content)
    target.write_bytes(message.to_bytes())


def _load(schema: Path) -> Any:
    import capnp  # noqa: PLC0415 (only the installation has it)

    return capnp.load(str(schema))
