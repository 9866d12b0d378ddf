from tests.integration.test_tickets_paging import *  # noqa: F403
