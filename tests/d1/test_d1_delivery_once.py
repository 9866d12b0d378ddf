from tests.integration.test_delivery_once import *  # noqa: F403
