from tests.integration.test_sweep_not_withdrawn import *  # noqa: F403
