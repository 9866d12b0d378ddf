"""The web's plumbing: strict bodies and queries, known hosts, traces and log lines. It knows nothing of tickets."""
