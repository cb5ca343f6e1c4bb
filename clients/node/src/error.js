// The only error type of this client: for the daemon's errors, and for those found by the client
// itself.

// Codes that mean "later": the daemon was not reached, is starting or stopping, or gave up the
// work.
const RETRYABLE_CODES = new Set(['unavailable', 'cancelled']);

export class CascadeError extends Error {
  // `loading`: how far a daemon is that is loading its model and does not serve yet.
  constructor(code, field, message, retryAfterMs = 0, loading = undefined) {
    super(message);
    this.code = code;
    this.field = field;
    this.retryAfterMs = retryAfterMs;
    this.loading = loading;
    this.retryable = RETRYABLE_CODES.has(code) || retryAfterMs > 0;
  }

  toString() {
    return `${this.name}: ${this.code}, ${this.field}: ${this.message}`;
  }

  // A copy of the error, as if it had occurred where the Error `trace` was made. The stack where an
  // answer of the daemon arrives does not show who asked.
  raisedAt(trace) {
    const { code, field, message, retryAfterMs, loading } = this;
    const error = new CascadeError(code, field, message, retryAfterMs, loading);
    // Programs may have changed the stack to something else, or to nothing.
    const frames = /\n {4}at .*$/s.exec(trace.stack)?.[0] ?? '';
    error.stack = `${this.name}: ${this.message}${frames}`;
    return error;
  }
}
// The name is on the prototype, as for the language's own errors: it is part of the stack, not of
// the fields.
Object.defineProperty(CascadeError.prototype, 'name', {
  value: 'CascadeError',
  configurable: true,
  writable: true,
});

// The error of a daemon that was not reached, has ended, or does not answer. Errors that the daemon
// sent name other fields.
export function unreachable(message) {
  return new CascadeError('unavailable', 'endpoint', message);
}

export function invalidArgument(field, message) {
  return new CascadeError('invalid_argument', field, message);
}
