from tests.integration.test_delivery_crashes import *  # noqa: F403
