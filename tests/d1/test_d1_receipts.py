from tests.integration.test_receipts import *  # noqa: F403
