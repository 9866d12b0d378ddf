"""What the Worker's modules do at import, read from their sources.

A Worker starts from a snapshot taken once: at import there is no randomness, no clock, and never a thread. An import
that finds nothing there keeps every request from being answered.
"""

import ast
import sys
from collections.abc import Iterator

from app.cloudflare.fault import Fault
from app.cloudflare.sources import FUNCTIONS, OURS, Sources, within

# These stay at home. A module may ask for them only inside a function, where it has looked whether they are there.
LEFT_OUT = ("app.check", "app.cli", "app.importer", "app.mcp", "app.measure", "app.migrations", "db.migrations")
OF_THE_RUNTIME = {"_cloudflare", "asgi", "js", "pyodide", "workers"}
FORBIDDEN = {  # with a dot at the end: whatever is in there
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "os.urandom", "random.", "secrets."), "draws at random"),
    **dict.fromkeys(("time.time", "time.monotonic", "time.perf_counter"), "reads the clock"),
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.date.today"), "reads the clock"),
    **dict.fromkeys(("threading.Thread", "threading.Timer", "concurrent.futures."), "starts threads"),
    **dict.fromkeys(("logging.handlers.QueueListener", "multiprocessing."), "starts threads"),
}
ANONYMOUS = {  # SQLAlchemy draws a name for these unless it is given: at which place, or only by keyword
    **dict.fromkeys(("alias", "cte", "lateral", "subquery"), 0),
    **dict.fromkeys(("aliased", "table_valued", "tablesample"), 99),
}
Name = tuple[str, str]  # a module, and a function in it


def faults(sources: Sources, modules: list[str], brought: set[str]) -> Iterator[Fault]:
    """`brought`: the packages of others that the Worker brings along."""
    for module in modules:
        path = sources.path(module)
        for each in sources.imports(module):
            if each.at_import and (said := _missing(each.target, brought)):
                yield Fault("cloudflare-import", f"{path}:{each.line}", said)
        for call in _calls(sources.tree(module)):
            if said := _forbidden(sources, module, call, set()):
                said = f"{said}, and a Worker may not. Do it in a function that a request calls."
                yield Fault("cloudflare-start", f"{path}:{call.lineno}", said)


def _missing(target: str, brought: set[str]) -> str | None:
    top = target.partition(".")[0]
    if within(target, LEFT_OUT):
        return f"{target} stays at home: the Worker has no such module. Import it in a function, where it is there."
    if top in OURS or top in sys.stdlib_module_names or top in brought | OF_THE_RUNTIME:
        return None
    return f"{top} is not there on Workers. Do without, or bring it: see DEPENDENCIES in app/cloudflare/findings.py."


def _forbidden(sources: Sources, module: str, call: ast.Call, seen: set[Name]) -> str | None:
    """What the call does that must not be done at import; what it calls in our modules is followed by name."""
    target = _dotted(call.func, sources.names(module))
    called = call.func.attr if isinstance(call.func, ast.Attribute) else str(target).rpartition(".")[2]
    if called in ANONYMOUS and not _is_named(call, ANONYMOUS[called]):
        return f"{called}() without a name draws one at random at import"
    if target is None:
        return None
    for name, does in FORBIDDEN.items():
        if target == name or (name.endswith(".") and target.startswith(name)):
            return f"{target}() {does} at import"
    owner, _, name = target.rpartition(".")
    function = _function(sources, owner or module, name)
    if function is None or (owner or module, name) in seen:
        return None
    seen.add((owner or module, name))
    inner = (_forbidden(sources, owner or module, each, seen) for each in _calls(function))
    return next((f"{target}() leads there: {said}" for said in inner if said), None)


def _is_named(call: ast.Call, place: int) -> bool:
    return len(call.args) > place or any(keyword.arg == "name" for keyword in call.keywords)


def _function(sources: Sources, module: str, name: str) -> ast.FunctionDef | None:
    body = sources.tree(module).body if sources.holds(module) else []
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that run when the body of `node` does. Of a function in there: its decorators and defaults."""
    for child in node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            made = [*getattr(child, "decorator_list", []), *child.args.defaults, *child.args.kw_defaults]
            yield from _calls(ast.Tuple([each for each in made if each], ast.Load()))
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from _calls(child)


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value, names)):
        return f"{owner}.{node.attr}"
    return None
