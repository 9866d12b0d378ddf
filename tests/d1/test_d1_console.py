from tests.integration.test_console import *  # noqa: F403
