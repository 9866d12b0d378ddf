"""The same list endpoint as others would write it: two statements, the same columns, the same JSON.

Each is a program of its own: `python -m app.measure.peers.NAME DATABASE` serves it and prints its address.
"""
