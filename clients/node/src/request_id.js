// Ids of requests: 16 random bytes.
import { randomBytes } from 'node:crypto';

import { REQUEST_ID_BYTES } from './limits.js';

export function newRequestId() {
  return new Uint8Array(randomBytes(REQUEST_ID_BYTES));
}
