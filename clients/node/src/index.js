// Cascade from Node: what this package exports. The types of all of it are in types/.
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
