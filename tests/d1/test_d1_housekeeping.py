from tests.integration.test_housekeeping import *  # noqa: F403
