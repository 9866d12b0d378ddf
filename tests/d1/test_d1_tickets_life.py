from tests.integration.test_tickets_life import *  # noqa: F403

del test_a_write_that_fails_halfway_leaves_nothing  # noqa: F821 (there, what was written stays)
