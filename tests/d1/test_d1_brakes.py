from tests.integration.test_brakes import *  # noqa: F403
