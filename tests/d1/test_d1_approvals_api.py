from tests.integration.test_approvals_api import *  # noqa: F403
