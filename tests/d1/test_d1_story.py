from tests.integration.test_story import *  # noqa: F403
