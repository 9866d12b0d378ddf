from tests.integration.test_timeline import *  # noqa: F403

del test_it_takes_one_statement_and_sorts_no_more_than_a_page  # noqa: F821 (it counts instructions, which D1 hides)
