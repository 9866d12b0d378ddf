from tests.integration.test_delivery import *  # noqa: F403
