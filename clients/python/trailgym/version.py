"""What this client says of itself in `initialize`."""

__version__ = "0.1.0"
