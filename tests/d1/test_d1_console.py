from tests.integration.test_console_agent import *  # noqa: F403
from tests.integration.test_console_answers import *  # noqa: F403
from tests.integration.test_console_inbox import *  # noqa: F403
from tests.integration.test_console_live import *  # noqa: F403
from tests.integration.test_console_sessions import *  # noqa: F403
from tests.integration.test_console_tickets import *  # noqa: F403
