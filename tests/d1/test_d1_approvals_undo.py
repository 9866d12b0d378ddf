from tests.integration.test_approvals_undo import *  # noqa: F403
