from tests.integration.test_approvals_queue import *  # noqa: F403
