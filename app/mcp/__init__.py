"""The tools for programs elsewhere, over the Model Context Protocol at /mcp. Can be deleted.

`endpoint` is the route, with what HTTP and JSON-RPC ask of it; `server` gives the SDK its two callbacks; `listing` says
what a token may call, and `answers` what a call came to.
"""
