"""Run a triager command that kills its own process, as `kill -9` would, when it reaches the step named first."""

import os
import signal
import sys

from app.cli import main
from app.runtime.steps import Step, on_reached

deadly = Step(sys.argv.pop(1))
on_reached(lambda step: os.kill(os.getpid(), signal.SIGKILL) if step is deadly else None)
main()
