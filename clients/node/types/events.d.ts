// What happens in the daemon, as it happens.
import type { CallOptions } from './client.js';
import type { ChunkType, Int64 } from './chunks.js';

/** Daemons of later versions may send others. */
export type EventKind =
  /** Registered, or retained: it has an id from now on. */
  | 'chunk_stored'
  /** A request was composed with it. */
  | 'chunk_used'
  /** Its K and V are not in memory any more. */
  | 'chunk_evicted'
  /** They are again. */
  | 'chunk_restored'
  /** Its time was over; it is gone. */
  | 'chunk_expired'
  /** A client deleted it; it is gone. */
  | 'chunk_deleted'
  /** It has left the queue. */
  | 'request_started'
  /** It was answered, with success or not. */
  | 'request_finished'
  | (string & {});

export interface EventNotice {
  /** 1, 2, 3, … */
  sequence: Int64;
  /** The boot that `sequence` is of. */
  bootId: string;
  timeUs: Int64;
  kind: EventKind;
  /** Of the chunk; of a request 32 hexadecimal digits. */
  id: string;
  /** Of the chunk. */
  type?: ChunkType;
  /** Of the chunk's text; of the prompt; of a finished request's output. */
  tokens: Int64;
  /** Of a finished request: finishReason, or the code of its error. */
  reason: string;
}

/**
 * Events are lost for good: what was known of the daemon is to be read anew. What comes next is
 * behind the number `after` of the boot `bootId`.
 */
export interface EventGap {
  kind: 'gap';
  bootId: string;
  after: Int64;
}

/** An aborted signal ends the stream with the signal's reason. */
export interface EventsOptions extends CallOptions {
  /** The number of the last event that is known: what came behind it comes first. */
  since?: Int64;
  /** The boot that `since` is of, if that is known. */
  bootId?: string;
}

/**
 * Made by Client.events(). Events come in order, none twice and none left out; an EventGap where
 * some are lost for good. It goes on until the loop is left, return() is called or the client is
 * closed. When the daemon is gone, next() fails with CascadeError (`unavailable`); called again
 * when there is a daemon again, it goes on, beginning with the gap, if there is one. An open stream
 * keeps the process alive.
 */
export class EventStream implements AsyncIterableIterator<EventNotice | EventGap> {
  private constructor();
  /** The number of the last event that came from here, for a later `since`; undefined: none yet. */
  readonly last: Int64 | undefined;
  /** The boot that `last` is of; '': not known yet. */
  readonly bootId: string;
  next(): Promise<IteratorResult<EventNotice | EventGap, undefined>>;
  return(): Promise<IteratorResult<EventNotice | EventGap, undefined>>;
  [Symbol.asyncIterator](): this;
}
