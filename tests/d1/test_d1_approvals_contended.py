from tests.integration.test_approvals_contended import *  # noqa: F403
