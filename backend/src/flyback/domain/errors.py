"""Every failure a person can meet, each with its stable code.

An error says what happened, in which node and field, and what to do next. One place per door turns it into an
answer: the problem document, the exit code, the FAILED record. The codes are a promise: they are added to, never renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import JsonValue

from flyback.domain.run import ErrorInfo


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with what was sent: where, what, and the remedy."""

    message: str
    node: str | None = None
    field: str | None = None
    fix: str | None = None


class FlybackError(Exception):
    """A failure with a code, a place and a remedy. `faults` lists several found at once."""

    code: ClassVar[str] = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        field: str | None = None,
        fix: str | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.field = field
        self.fix = fix
        self.faults = tuple(faults)

    @property
    def info(self) -> ErrorInfo:
        return ErrorInfo(code=self.code, message=self.message, node=self.node, field=self.field, fix=self.fix)


# What stops a request at the door.


class InvalidError(FlybackError):
    code = "INVALID"


class BadJsonError(FlybackError):
    code = "BAD_JSON"


class BadPositionError(FlybackError):
    code = "BAD_POSITION"


class GraphInvalidError(FlybackError):
    code = "GRAPH_INVALID"


class InputInvalidError(FlybackError):
    code = "INPUT_INVALID"


class IdempotencyMismatchError(FlybackError):
    code = "IDEMPOTENCY_MISMATCH"


class NotFoundError(FlybackError):
    code = "NOT_FOUND"


class RevisionConflictError(FlybackError):
    """The document was changed elsewhere; `current` is what is stored, as on the wire."""

    code = "REVISION_CONFLICT"

    def __init__(self, message: str, *, current: JsonValue, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.current = current


class RunsOpenError(FlybackError):
    code = "RUNS_OPEN"


class PauseAnsweredError(FlybackError):
    """Somebody answered before; `current` is the first answer, as on the wire."""

    code = "PAUSE_ANSWERED"

    def __init__(self, message: str, *, current: JsonValue, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.current = current


class SeveralPausesError(FlybackError):
    code = "SEVERAL_PAUSES"


class PauseClosedError(FlybackError):
    code = "PAUSE_CLOSED"


class TooLargeError(FlybackError):
    code = "TOO_LARGE"


class TooManyError(FlybackError):
    code = "TOO_MANY"

    def __init__(self, message: str, *, retry_after_seconds: float, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.retry_after_seconds = retry_after_seconds


class UnauthenticatedError(FlybackError):
    code = "UNAUTHENTICATED"


class ForbiddenError(FlybackError):
    code = "FORBIDDEN"


class CsrfError(FlybackError):
    """A writing call of the page came without the token of its session."""

    code = "CSRF"


class OriginRefusedError(FlybackError):
    """The call comes from a page that is not ours."""

    code = "ORIGIN_REFUSED"


class HostRefusedError(FlybackError):
    """The call names a host that this server is not."""

    code = "HOST_REFUSED"


class ContentTypeError(FlybackError):
    code = "CONTENT_TYPE"


class BodyTimeoutError(FlybackError):
    code = "BODY_TIMEOUT"


class HeadersTooLargeError(FlybackError):
    code = "HEADERS_TOO_LARGE"


class MethodNotAllowedError(FlybackError):
    code = "METHOD_NOT_ALLOWED"


class BadRequestError(FlybackError):
    """The request is no HTTP that can be read."""

    code = "BAD_REQUEST"


class NotReadyError(FlybackError):
    """The server is up but not able to work yet, or no longer."""

    code = "NOT_READY"


class StorageBusyError(FlybackError):
    code = "STORAGE_BUSY"


class StorageFullError(FlybackError):
    code = "STORAGE_FULL"


class DatabaseNewerError(FlybackError):
    """A newer program made this database; this one does not touch it."""

    code = "DATABASE_NEWER"


class DataFolderHeldError(FlybackError):
    """Another process works on this data folder."""

    code = "DATA_FOLDER_HELD"


class DataFolderUnusableError(FlybackError):
    """The data folder cannot be made or written."""

    code = "DATA_FOLDER_UNUSABLE"


class SecretKeyMissingError(FlybackError):
    """Secrets are stored and the key that sealed them is not there."""

    code = "SECRET_KEY_MISSING"


# What ends a run.


class NodeFailedError(FlybackError):
    """A node failed under `abort`; the node's own code is in the message and on its record."""

    code = "NODE_FAILED"


class NoOutputError(FlybackError):
    code = "NO_OUTPUT"


class MaxVisitsExceededError(FlybackError):
    code = "MAX_VISITS_EXCEEDED"


class BudgetExceededError(FlybackError):
    """A budget is used up, wherever it was noticed. It ends the run and is never a node's failure."""

    code = "BUDGET_EXCEEDED"


class RunTimeoutError(FlybackError):
    code = "RUN_TIMEOUT"


class EventLimitError(FlybackError):
    code = "EVENT_LIMIT"


class RecoveryExhaustedError(FlybackError):
    code = "RECOVERY_EXHAUSTED"


class StateCorruptError(FlybackError):
    code = "STATE_CORRUPT"


class InternalError(FlybackError):
    code = "INTERNAL"


# What fails a node or visit.


class NodeError(FlybackError):
    """A node's failure. Only a `transient` one is retried, after `retry_after_seconds` where the other side named it."""

    code = "INTERNAL"
    transient: ClassVar[bool] = False
    retry_after_seconds: float | None = None


class ModelUnavailableError(NodeError):
    """No answer: refused connection, broken stream, 5xx, or 429 (then `retry_after_seconds` may be set)."""

    code = "MODEL_UNAVAILABLE"
    transient = True


class ModelTimeoutError(NodeError):
    code = "MODEL_TIMEOUT"
    transient = True


class ModelRefusedError(NodeError):
    """The provider answered 4xx (but 429): the request or the key is wrong, asking again does not help."""

    code = "MODEL_REFUSED"


class ModelUnknownError(NodeError):
    code = "MODEL_UNKNOWN"


class ModelEmptyError(NodeError):
    """The answer was cut before there was any, by the token limit or a filter: asking the same again pays for the same."""

    code = "MODEL_EMPTY"


class ModelUnreadableError(NodeError):
    code = "MODEL_UNREADABLE"
    transient = True


class ModelContextError(NodeError):
    code = "MODEL_CONTEXT"


class ScriptExhaustedError(NodeError):
    code = "SCRIPT_EXHAUSTED"


class SkillNotFoundError(NodeError):
    code = "SKILL_NOT_FOUND"


class SkillFileError(NodeError):
    """A skill has no such file, or none that can be read as text."""

    code = "SKILL_FILE"


class AgentStepsError(NodeError):
    """An agent has used up its steps."""

    code = "AGENT_STEPS"


class AgentTokensError(NodeError):
    """An agent has used up the tokens that its node allows."""

    code = "AGENT_TOKENS"


class AgentRuntimeError(NodeError):
    """What an agent runs on could not be started, or ended in the middle. What was done until then is kept."""

    code = "AGENT_RUNTIME"
    transient = True


class InputRequiredError(NodeError):
    code = "INPUT_REQUIRED"


class AnswerTimeoutError(NodeError):
    """Nobody answered in time, and the node says that this is a failure."""

    code = "ANSWER_TIMEOUT"


class OutputEmptyError(NodeError):
    code = "OUTPUT_EMPTY"


class OutputTooLargeError(NodeError):
    code = "OUTPUT_TOO_LARGE"


class NodeTimeoutError(NodeError):
    code = "NODE_TIMEOUT"
    transient = True


class ConfigInvalidError(NodeError):
    """A node's settings cannot be used as they stand at the moment it runs."""

    code = "INVALID"


# What fails a node that works with the world outside.


class SubRunFailedError(NodeError):
    """A run that the node started did not succeed."""

    code = "SUB_RUN_FAILED"


class SubRunRefusedError(NodeError):
    """A run that the node was to start would be too deep, or one inside itself."""

    code = "SUB_RUN_REFUSED"


class ItemsInvalidError(NodeError):
    """What an iteration was to go through is no list, or too long a one."""

    code = "ITEMS_INVALID"


class EgressRefusedError(NodeError):
    """The address is one that the server does not talk to. The operator's allow list may name it."""

    code = "EGRESS_REFUSED"


class EgressLimitError(NodeError):
    """The answer was too large or too slow, or sent round too often."""

    code = "EGRESS_LIMIT"


class EgressSlowError(EgressLimitError):
    """Too slow, and nothing is lost by asking again."""

    transient = True


class EgressFailedError(NodeError):
    """No whole answer came, and asking again might do twice what was asked for."""

    code = "EGRESS_FAILED"


class EgressUnavailableError(EgressFailedError):
    """No whole answer came, and nothing is lost by asking again."""

    transient = True


class HttpStatusError(NodeError):
    """The answer has a status that the node takes for a failure."""

    code = "HTTP_STATUS"


class HttpUnavailableError(HttpStatusError):
    """A status that may pass: 429 and 5xx."""

    transient = True


class CodeError(NodeError):
    """The program is wrong: it cannot be read, it raised, or it lacks an output."""

    code = "CODE_ERROR"


class CodeMemoryError(NodeError):
    code = "CODE_MEMORY"


class CodeTimeoutError(NodeError):
    code = "CODE_TIMEOUT"


class CodeOffError(NodeError):
    """The operator has switched code nodes off."""

    code = "CODE_OFF"


class ToolUnknownError(NodeError):
    """There is no such server, or no such tool on it."""

    code = "TOOL_UNKNOWN"


class ToolNotAcceptedError(NodeError):
    """What the tool says of itself is not what was accepted."""

    code = "TOOL_NOT_ACCEPTED"


class ToolFailedError(NodeError):
    """The tool reported a failure, or its answer did not come: it may have worked all the same."""

    code = "TOOL_FAILED"


class ToolDeniedError(NodeError):
    """A person was asked whether the tool may run, and it may not: it was not called."""

    code = "TOOL_DENIED"


class ToolUnavailableError(NodeError):
    """The server cannot be reached or does not speak the protocol: no tool was called."""

    code = "TOOL_UNAVAILABLE"
    transient = True
