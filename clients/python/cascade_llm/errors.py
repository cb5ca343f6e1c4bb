"""The one exception of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .names import ErrorCode

if TYPE_CHECKING:
    from .replies import Loading

# The field of errors that say that no daemon was reached, or that it has ended.
ENDPOINT_FIELD = "endpoint"

# The errors after which another try may help, according to the protocol.
_RETRYABLE = frozenset(
    {
        ErrorCode.UNAVAILABLE,
        ErrorCode.CANCELLED,
        ErrorCode.DATA_CORRUPT,
        ErrorCode.IO,
        ErrorCode.INTERNAL,
    }
)


class CascadeError(Exception):
    """A request failed: the daemon refused it, was not reached, or went away; or an argument
    cannot be sent.

    code            what kind of failure; compares equal to its name, e.g. ``"not_found"``
    field           the place that is wrong, e.g. ``"messages[2].role"``; ``"endpoint"`` if no
                    daemon was reached or the connection broke
    message         one sentence for people
    retry_after_ms  > 0: worth trying again after that time
    loading         of a daemon that loads its model, and does not serve yet: how far it is
    """

    def __init__(
        self,
        code: str | ErrorCode,
        field: str,
        message: str,
        retry_after_ms: int = 0,
        loading: Loading | None = None,
    ) -> None:
        super().__init__(code, field, message, retry_after_ms)
        self.code = ErrorCode.from_wire(str(code))
        self.field = field
        self.message = message
        self.retry_after_ms = retry_after_ms
        self.loading = loading

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later. If it has a ``session``, its turn may have
        been made before the connection broke: ``get_session()`` tells."""
        return self.retry_after_ms > 0 or self.code in _RETRYABLE

    @property
    def unreachable(self) -> bool:
        """Whether no daemon was reached, or the daemon has ended."""
        return self.code == ErrorCode.UNAVAILABLE and self.field == ENDPOINT_FIELD

    def again(self) -> CascadeError:
        """A copy of the error, to be raised in another place."""
        return type(self)(self.code, self.field, self.message, self.retry_after_ms, self.loading)

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.code), self.field, self.message) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        rest = (self.field, self.message, self.retry_after_ms, self.loading)
        return type(self), (str(self.code), *rest)


def invalid_argument(field: str, message: str) -> CascadeError:
    """For an argument that is refused before anything is sent, or a message that cannot be
    decoded."""
    return CascadeError(ErrorCode.INVALID_ARGUMENT, field, message)


def unreachable(message: str) -> CascadeError:
    """For a daemon that was not reached, or has ended."""
    return CascadeError(ErrorCode.UNAVAILABLE, ENDPOINT_FIELD, message)


def not_expected(answer: object) -> CascadeError:
    """For an answer that is a message of the wrong type."""
    return CascadeError(
        ErrorCode.INTERNAL, "reply", f"the daemon answered with a {type(answer).__name__}"
    )
