"""The reusable part: routes as tools (`tools/`), and agents that outlive a process (`durable/`).

Imports nothing of ours outside itself. `app/main.py` fills its four ports: the app (an ASGI callable), the approval
store, the clock and ids, and notify.
"""
