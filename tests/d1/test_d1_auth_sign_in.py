from tests.integration.test_auth_sign_in import *  # noqa: F403
