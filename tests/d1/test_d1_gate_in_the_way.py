from tests.integration.test_gate_in_the_way import *  # noqa: F403
