from tests.integration.test_tickets_list import *  # noqa: F403
