from tests.integration.test_direct import *  # noqa: F403
