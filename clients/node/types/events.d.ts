// What happens in the daemon, as it happens.
import type { CallOptions } from './client.js';
import type { Approximation, ChunkType, Int64 } from './chunks.js';

/** Daemons of later versions may send others. */
export type EventKind =
  /** The chunk was registered or retained: it has an id from now on. */
  | 'chunk_stored'
  /** A request was composed with the chunk. */
  | 'chunk_used'
  /** The chunk's K and V are no longer in memory. */
  | 'chunk_evicted'
  /** The chunk's K and V are in memory again. */
  | 'chunk_restored'
  /** The chunk's time was over; it is removed. */
  | 'chunk_expired'
  /** A client deleted the chunk; it is removed. */
  | 'chunk_deleted'
  /** The request has left the queue. */
  | 'request_started'
  /** The request was answered, with success or not. */
  | 'request_finished'
  | (string & {});

export interface EventNotice {
  /** 1, 2, 3, … */
  sequence: Int64;
  /** The boot to which `sequence` belongs. */
  bootId: string;
  timeUs: Int64;
  kind: EventKind;
  /** The id of the chunk; for a request, its id as 32 hexadecimal digits. */
  id: string;
  /** The type of the chunk. */
  type?: ChunkType;
  /** The tokens of the chunk's text, of the prompt, or of a finished request's output. */
  tokens: Int64;
  /** For a finished request: finishReason, or the code of its error. */
  reason: string;
  /** Of the chunk's K and V, or of those that a finished request continued. */
  approximation: Approximation;
}

/**
 * Events are lost for good: everything known about the daemon must be read anew. The next events
 * come after the number `after` of the boot `bootId`.
 */
export interface EventGap {
  kind: 'gap';
  bootId: string;
  after: Int64;
}

/** An aborted signal ends the stream with the signal's reason. */
export interface EventsOptions extends CallOptions {
  /** The number of the last known event: the events after it come first. */
  since?: Int64;
  /** The boot to which `since` belongs, if that is known. */
  bootId?: string;
}

/**
 * Made by Client.events(). Events come in order, none twice and none left out; an EventGap comes
 * where some are lost for good. The stream continues until the loop is left, return() is called or
 * the client is closed. When the daemon has ended, next() fails with CascadeError (`unavailable`).
 * If it is called again when there is a daemon again, the stream continues, beginning with the gap,
 * if there is one. An open stream keeps the process alive.
 */
export class EventStream implements AsyncIterableIterator<EventNotice | EventGap> {
  private constructor();
  /** The number of the last event that came from here, for a later `since`; undefined: none yet. */
  readonly last: Int64 | undefined;
  /** The boot to which `last` belongs; '': not known yet. */
  readonly bootId: string;
  next(): Promise<IteratorResult<EventNotice | EventGap, undefined>>;
  return(): Promise<IteratorResult<EventNotice | EventGap, undefined>>;
  [Symbol.asyncIterator](): this;
}
