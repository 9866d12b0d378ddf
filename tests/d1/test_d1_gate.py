from tests.integration.test_gate import *  # noqa: F403
