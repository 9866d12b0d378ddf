"""What a route costs the product's own process, on loopback."""

from statistics import median

from app.measure.furnished import Furnished
from app.measure.process import Served
from app.measure.routes import Measured, expect

WARM = 2  # requests before those that count


async def cpu_ms(server: Served, house: Furnished, one: Measured, repeat: int) -> float:
    """The median of what the server spent on this route, background work that it caused included.

    A sweep comes once: an agent's calls are limited by the minute, and this clock is the real one.
    """
    spent = []
    for _ in range(1 if one.name.endswith("sweep") else WARM + repeat):
        request, begun = await one.sample(house), server.cpu_ms()
        expect(request, server.ask(request))
        spent.append(server.cpu_ms() - begun)
    return round(median(spent[-repeat:]), 2)
