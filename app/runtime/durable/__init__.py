"""Agents that outlive a process: their state, schedules and waiting calls are rows in a database of their own.

A host gives each instance a name, `sql`, one alarm, one turn at a time, and `wake`; all else is built on that, once.
"""
