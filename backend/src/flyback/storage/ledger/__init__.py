"""The run ledger on the database."""

from flyback.storage.ledger.ledger import Ledger
from flyback.storage.ledger.new_run import NewRun
from flyback.storage.ledger.segments import Enqueue
from flyback.storage.ledger.sharing import Fork
from flyback.storage.ledger.sub_runs import SubRunLedger

__all__ = ["Enqueue", "Fork", "Ledger", "NewRun", "SubRunLedger"]
