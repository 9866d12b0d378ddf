"""What is raised, as opposed to what is returned: bugs in the wiring, and limits that protect the database.

WiringError                      the developer made an error
  ToolNotFound                   no route declares a tool of that name
  AgentNotRegistered             config/agents.py does not know it
StatementLimitExceeded           an invocation ran more statements than its database allows
Unreadable                       no key opens a sealed value
Halted                           a brake holds the agent; what waits continues when it is let go
Stopping                         the process was told to end; what was begun continues at the next start
"""


class WiringError(Exception):
    """The parts do not fit together; no caller can mend it."""


class ToolNotFound(WiringError):
    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(
            f'No tool is named "{name}". There are: {", ".join(known) or "none"}. List them: triager tool list'
        )


class AgentNotRegistered(WiringError):
    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f'No agent is named "{name}". config/agents.py knows: {", ".join(known) or "none"}.')


class StatementLimitExceeded(Exception):
    def __init__(self, limit: int) -> None:
        super().__init__(f"This invocation has run {limit} SQL statements, its limit. Read fewer rows at a time.")


class Unreadable(Exception):
    """No key opens this value, or it was moved here from another row."""


class Halted(Exception):
    """Its message says who halted the agent, since when, and what lets it go."""


class Stopping(Exception):
    def __init__(self) -> None:
        super().__init__("The host is stopping. Nothing more was executed; it goes on at the next start. Try then.")
