// Reads the MessagePack body of a message from hostile bytes. MessagePack libraries accept keys
// that occur twice, malformed UTF-8, any depth, and allocate memory for a length that is only
// claimed; some also drop a byte order mark. The protocol allows none of that.
import { isUtf8 } from 'node:buffer';

import { invalidArgument } from './error.js';
import {
  ARRAY_ELEMENTS_MAX,
  DEPTH_MAX,
  MAP_KEYS_MAX,
  STRING_BYTES_MAX,
  VALUES_MAX,
} from './limits.js';

// A floating-point number. A JavaScript number does not tell that 5.0 is not an integer.
export class Float {
  constructor(value) {
    this.value = value;
  }
}

// A MessagePack extension. No field of the protocol is one.
export class Extension {}

function fail(problem) {
  throw invalidArgument('body', problem);
}

class BodyReader {
  #bytes;
  #view;
  #at = 0;
  #values = 0;
  #depth = 0;

  constructor(bytes) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  document() {
    const value = this.#value();
    if (!(value instanceof Map)) fail('is not a map');
    if (this.#at !== this.#bytes.length) fail(`has bytes after its map, at byte ${this.#at}`);
    return value;
  }

  // Moves past the next `count` bytes and returns where they begin.
  #take(count) {
    const begin = this.#at;
    if (count > this.#bytes.length - begin) fail(`ends within a value, at byte ${begin}`);
    this.#at = begin + count;
    return begin;
  }

  #unsigned(bytes) {
    const at = this.#take(bytes);
    if (bytes === 1) return this.#view.getUint8(at);
    if (bytes === 2) return this.#view.getUint16(at);
    if (bytes === 4) return this.#view.getUint32(at);
    return whole(this.#view.getBigUint64(at));
  }

  #signed(bytes) {
    const at = this.#take(bytes);
    if (bytes === 1) return this.#view.getInt8(at);
    if (bytes === 2) return this.#view.getInt16(at);
    if (bytes === 4) return this.#view.getInt32(at);
    return whole(this.#view.getBigInt64(at));
  }

  #value() {
    if (++this.#values > VALUES_MAX) fail(`has more than ${VALUES_MAX} values`);
    const tag = this.#unsigned(1);
    if (tag < 0x80) return tag;
    if (tag < 0x90) return this.#map(tag & 0x0f);
    if (tag < 0xa0) return this.#array(tag & 0x0f);
    if (tag < 0xc0) return this.#string(tag & 0x1f);
    if (tag >= 0xe0) return tag - 0x100;
    return this.#tagged(tag);
  }

  #tagged(tag) {
    switch (tag) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6: return this.#binary(this.#unsigned(1 << (tag - 0xc4)));
      case 0xc7: case 0xc8: case 0xc9: return this.#extension(this.#unsigned(1 << (tag - 0xc7)));
      case 0xca: return new Float(this.#view.getFloat32(this.#take(4)));
      case 0xcb: return new Float(this.#view.getFloat64(this.#take(8)));
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.#unsigned(1 << (tag - 0xcc));
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.#signed(1 << (tag - 0xd0));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8:
        return this.#extension(1 << (tag - 0xd4));
      case 0xd9: case 0xda: case 0xdb: return this.#string(this.#unsigned(1 << (tag - 0xd9)));
      case 0xdc: case 0xdd: return this.#array(this.#unsigned(2 << (tag - 0xdc)));
      case 0xde: case 0xdf: return this.#map(this.#unsigned(2 << (tag - 0xde)));
      default: return fail(`is not valid MessagePack at byte ${this.#at - 1}`);
    }
  }

  #string(size) {
    if (size > STRING_BYTES_MAX) {
      fail(`has a string of ${size} bytes, more than the limit of ${STRING_BYTES_MAX}`);
    }
    const at = this.#take(size);
    const bytes = this.#bytes.subarray(at, at + size);
    if (!isUtf8(bytes)) fail(`has a string that is not UTF-8, at byte ${at}`);
    return bytes.toString('utf8');
  }

  #binary(size) {
    const at = this.#take(size);
    return this.#bytes.subarray(at, at + size);
  }

  #extension(size) {
    this.#take(size + 1); // its type is one byte
    return new Extension();
  }

  #array(count) {
    if (count > ARRAY_ELEMENTS_MAX) {
      fail(`has an array of more than ${ARRAY_ELEMENTS_MAX} elements`);
    }
    this.#enter();
    const elements = [];
    for (let i = 0; i < count; ++i) elements.push(this.#value());
    --this.#depth;
    return elements;
  }

  #map(count) {
    if (count > MAP_KEYS_MAX) fail(`has a map of more than ${MAP_KEYS_MAX} keys`);
    this.#enter();
    const map = new Map();
    for (let i = 0; i < count; ++i) {
      const key = this.#value();
      if (typeof key !== 'string') fail('has a map with a key that is not a string');
      if (map.has(key)) fail(`has the key ${JSON.stringify(key.slice(0, 40))} twice`);
      map.set(key, this.#value());
    }
    --this.#depth;
    return map;
  }

  #enter() {
    if (++this.#depth > DEPTH_MAX) fail(`is nested deeper than ${DEPTH_MAX} levels`);
  }
}

function whole(big) {
  const number = Number(big);
  return Number.isSafeInteger(number) ? number : big;
}

// Returns a Map of: null, boolean, number or bigint (integers), Float, string, Buffer (bin, a view
// of `bytes`), Extension, and arrays and Maps of these. Throws CascadeError invalid_argument, field
// "body".
export function readBody(bytes) {
  return new BodyReader(bytes).document();
}
