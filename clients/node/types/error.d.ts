// The error that all calls fail with, but for an aborted signal's own reason.

/** See docs/protocol.md, section 5. Daemons of later versions may send others. */
export type ErrorCode =
  | 'invalid_argument'
  | 'not_found'
  | 'conflict'
  | 'resource_exhausted'
  | 'unsupported'
  | 'data_corrupt'
  | 'io'
  | 'internal'
  | 'cancelled'
  | 'deadline_exceeded'
  | 'unavailable'
  | (string & {});

/** How far a daemon is that was just started and is loading its model. */
export interface Loading {
  doneBytes: number;
  /** 0: not known yet. */
  totalBytes: number;
}

export class CascadeError extends Error {
  constructor(
    code: ErrorCode,
    field: string,
    message: string,
    retryAfterMs?: number,
    loading?: Loading,
  );
  readonly code: ErrorCode;
  /**
   * What is wrong, in the words of the protocol: 'max_tokens', 'messages[2].role'. 'endpoint' with
   * the code `unavailable` means that the daemon was not reached, has ended, or does not answer.
   * 'client' means that the client was closed. 'reply' means that the daemon sent something that
   * cannot be read.
   */
  readonly field: string;
  /** Milliseconds until another try is worthwhile; 0: the daemon did not say. */
  readonly retryAfterMs: number;
  /** Whether the same request may succeed later. A lost request may still have been executed. */
  readonly retryable: boolean;
  /** Set if the daemon is loading its model and does not serve yet. */
  readonly loading: Loading | undefined;
}
