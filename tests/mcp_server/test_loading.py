"""The SDK is imported by whoever uses /mcp, and by nobody else."""

import subprocess
import sys

import pytest
from support_mcp import Endpoint


def test_building_the_product_does_not_import_the_sdk() -> None:
    program = "import sys; from app.main import look; look(); print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.anyio
async def test_without_the_sdk_the_endpoint_says_which_extra_is_missing(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.mcp.endpoint.find_spec", lambda _: None)
    response = await endpoint.post(await endpoint.token("tickets_index"), {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert response.status_code == 404
    assert "uv sync --extra mcp" in response.json()["detail"]
