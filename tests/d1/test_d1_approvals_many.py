from tests.integration.test_approvals_many import *  # noqa: F403
