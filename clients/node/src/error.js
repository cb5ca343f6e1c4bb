// The one error type of this client: what the daemon answers with, and what is found out here.

// Codes that say "later": the daemon was not reached, is starting or stopping, or gave up the work.
const RETRYABLE_CODES = new Set(['unavailable', 'cancelled']);

export class CascadeError extends Error {
  // `loading`: how far a daemon has come that loads its model and does not serve yet.
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

  // The same, as if it had come up where `trace`, an Error, was made: an answer of the daemon
  // arrives where nobody can see who asked.
  raisedAt(trace) {
    const { code, field, message, retryAfterMs, loading } = this;
    const error = new CascadeError(code, field, message, retryAfterMs, loading);
    // Programs may have made stacks something else, or nothing.
    const frames = /\n {4}at .*$/s.exec(trace.stack)?.[0] ?? '';
    error.stack = `${this.name}: ${this.message}${frames}`;
    return error;
  }
}
// On the prototype, as of the language's own errors: it is part of the stack, not of the fields.
Object.defineProperty(CascadeError.prototype, 'name', {
  value: 'CascadeError',
  configurable: true,
  writable: true,
});

// The daemon was not reached, is gone, or does not answer. Errors that it sent name other fields.
export function unreachable(message) {
  return new CascadeError('unavailable', 'endpoint', message);
}

export function invalidArgument(field, message) {
  return new CascadeError('invalid_argument', field, message);
}
