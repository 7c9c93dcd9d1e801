"""The sync client: the async one, run on a thread of its own."""
