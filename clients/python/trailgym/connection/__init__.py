"""One connection to a server: what is said on it, and what happens when it is lost."""
