from tests.integration.test_approvals_memory import *  # noqa: F403
