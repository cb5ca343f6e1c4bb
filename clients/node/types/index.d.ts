// The types of the package. docs/protocol.md has the meaning, units and limits of all fields; there
// their names have underscores (`maxTokens` is `max_tokens`).
export { Client, GenerationStream, chunkReference, connect, defaultEndpoint } from './client.js';
export type {
  BatchOptions,
  CallOptions,
  ChunkInfo,
  ConnectOptions,
  GenerateOptions,
} from './client.js';
export { CascadeError, type ErrorCode, type Loading } from './error.js';
export { EventStream } from './events.js';
export type { EventGap, EventKind, EventNotice, EventsOptions } from './events.js';
export * from './chunks.js';
export * from './generation.js';
export * from './service.js';
export * from './tokens.js';
export * from './tools.js';

/**
 * `text` without anything that a terminal obeys: control characters become their pictures, controls
 * of direction become U+FFFD, newline and tab stay. Text from models and other users must not be
 * trusted with a terminal.
 */
export function sanitized(text: string): string;
