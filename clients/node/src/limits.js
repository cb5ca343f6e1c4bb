// The limits of the protocol (docs/protocol.md, section 2) that a receiver checks.

export const FRAMES_MIN = 3; // header, request id, body
export const FRAMES_MAX = 4096;
export const MESSAGE_BYTES_MAX = 64 * 2 ** 20;
export const STRING_BYTES_MAX = 16 * 2 ** 20;
export const DEPTH_MAX = 16;
export const MAP_KEYS_MAX = 256;
export const ARRAY_ELEMENTS_MAX = 2 ** 20;
// The values in a whole body: a value may be a single byte, but takes many bytes of memory.
export const VALUES_MAX = 2 * 2 ** 20;
export const REQUEST_ID_BYTES = 16;
