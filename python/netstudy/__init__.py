"""netstudy: design, run, analyse and publish network performance studies."""

__version__ = "0.1.0"
