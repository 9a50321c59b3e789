"""Gets runs driven: queue, claim, recovery."""

from flyback.dispatch.dispatcher import Dispatcher

__all__ = ["Dispatcher"]
