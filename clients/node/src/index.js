// Cascade for Node: the exports of this package. types/ has their types.
import { Client } from './client.js';

export { Client, chunkReference } from './client.js';
export { defaultEndpoint } from './endpoint.js';
export { CascadeError } from './error.js';
export { EventStream } from './event_stream.js';
export { GenerationStream } from './generation_stream.js';
export { sanitized } from './terminal_text.js';

export function connect(options) {
  return Client.connect(options);
}
