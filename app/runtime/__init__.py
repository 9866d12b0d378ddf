"""The reusable part: routes as tools (`tools/`), and agents that outlive a process (`durable/`).

Imports nothing of ours outside itself. `app/product.py` fills its four ports: the app (an ASGI callable), the approval
store, the clock and ids, and notify.
"""
