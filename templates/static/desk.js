// The desk in a browser: live pages and keys. Everything works without it.
