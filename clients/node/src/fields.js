// Kinds of fields: how each is checked, written and read. On the wire and in errors, names are
// those of the protocol (`max_tokens`); in JavaScript they are in camel case (`maxTokens`).
//
// A kind has read(value, arrays), from a value of readBody() to JavaScript, and write(value,
// arrays), from JavaScript to what the MessagePack library writes. `arrays` are the frames after
// the body.
import { endianness } from 'node:os';

import { Float } from './body.js';
import { invalidArgument } from './error.js';
import { REQUEST_ID_BYTES, STRING_BYTES_MAX } from './limits.js';

// A problem that passes up through nested fields, each of which adds its name.
class FieldProblem extends Error {
  path = '';

  within(name) {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `${name}${separator}${this.path}`;
    return this;
  }
}

function fail(problem) {
  throw new FieldProblem(problem);
}

function at(name, action) {
  try {
    return action();
  } catch (error) {
    throw error instanceof FieldProblem ? error.within(name) : error;
  }
}

// Runs `action`. A problem becomes a CascadeError that names the field.
export function namingFields(action) {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof FieldProblem)) throw error;
    throw invalidArgument(error.path === '' ? 'body' : error.path, error.message);
  }
}

export const string = {
  read(value) {
    if (typeof value !== 'string') fail('must be a string');
    return value;
  },
  write(value) {
    if (typeof value !== 'string') fail('must be a string');
    if (!value.isWellFormed()) fail('has half of a surrogate pair, which is not Unicode text');
    // A unit of UTF-16 has at most 3 bytes in UTF-8: most strings need not be measured.
    if (value.length * 3 > STRING_BYTES_MAX && Buffer.byteLength(value) > STRING_BYTES_MAX) {
      fail(`has ${Buffer.byteLength(value)} bytes, more than the limit of ${STRING_BYTES_MAX}`);
    }
    return value;
  },
};

// Is sent as JSON text: a string is that text, anything else is written as JSON, with its keys
// unchanged.
const json = {
  read: string.read,
  write(value) {
    if (typeof value === 'string') return string.write(value);
    let text;
    try {
      text = JSON.stringify(value);
    } catch (error) {
      fail(`cannot be written as JSON: ${error.message}`);
    }
    if (text === undefined) fail('cannot be written as JSON');
    return string.write(text);
  },
};

export const boolean = {
  read(value) {
    if (typeof value !== 'boolean') fail('must be true or false');
    return value;
  },
  write(value) {
    return boolean.read(value);
  },
};

// The MessagePack library writes larger numbers as floating point, but bigints as integers.
const UINT32_MAX = 2 ** 32 - 1;

// Integers of 64 bits are numbers if a number holds them exactly, else bigints.
function integer(min, max) {
  const check = (value) => {
    if (value < min || value > max) fail(`must be between ${min} and ${max}`);
    return value;
  };
  return {
    read(value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') fail('must be a whole number');
      return check(value);
    },
    write(value) {
      if (typeof value !== 'bigint' && !Number.isInteger(value)) fail('must be a whole number');
      check(value);
      if (Math.abs(Number(value)) <= UINT32_MAX) return Number(value);
      if (typeof value === 'number' && !Number.isSafeInteger(value)) {
        fail('is beyond 2^53: give it as a bigint');
      }
      return BigInt(value);
    },
  };
}

export const int32 = integer(-(2 ** 31), 2 ** 31 - 1);
export const int64 = integer(-(2n ** 63n), 2n ** 63n - 1n);
export const uint64 = integer(0n, 2n ** 64n - 1n);

export const number = {
  read(value) {
    if (value instanceof Float) return value.value;
    if (typeof value !== 'number' && typeof value !== 'bigint') fail('must be a number');
    return Number(value);
  },
  // A whole number is sent as an integer, which the protocol accepts wherever it asks for a number.
  write(value) {
    if (typeof value !== 'number' || !Number.isFinite(value)) fail('must be a finite number');
    return value;
  },
};

// Any bytes, at most as many as a string may have.
export const bytes = {
  read(value) {
    if (!(value instanceof Uint8Array)) fail('must be bytes');
    if (value.length > STRING_BYTES_MAX) {
      fail(`has ${value.length} bytes, more than the limit of ${STRING_BYTES_MAX}`);
    }
    return Uint8Array.from(value);
  },
  write(value) {
    return bytes.read(value);
  },
};

export const requestId = {
  read(value) {
    const good = value instanceof Uint8Array && value.length === REQUEST_ID_BYTES;
    if (!good) fail(`must be ${REQUEST_ID_BYTES} bytes`);
    return Uint8Array.from(value);
  },
  write(value) {
    return requestId.read(value);
  },
};

export function list(kind) {
  const each = (method) => (values, arrays) => {
    if (!Array.isArray(values)) fail('must be an array');
    return Array.from(values, (value, i) => at(`[${i}]`, () => kind[method](value, arrays)));
  };
  return { read: each('read'), write: each('write') };
}

// Words of 4 bytes in a frame of their own; `Words` is Int32Array or Float32Array.
function words(Words, checkElement) {
  const swapped = (bytes) => (endianness() === 'LE' ? bytes : bytes.swap32());
  return {
    read(value, arrays) {
      if (typeof value !== 'number' || value < 0) fail('must be the number of an array');
      if (value >= arrays.length) fail(`refers to array ${value} of ${arrays.length}`);
      const frame = arrays[value];
      if (frame === null) fail(`refers to array ${value}, which another field has`);
      arrays[value] = null;
      if (frame.length % 4 !== 0) {
        fail(`has an array of ${frame.length} bytes, which is not a multiple of 4`);
      }
      const copy = new Words(frame.length / 4);
      const bytes = Buffer.from(copy.buffer);
      bytes.set(frame);
      swapped(bytes);
      return copy;
    },
    write(values, arrays) {
      if (!Array.isArray(values) && !(values instanceof Words)) {
        fail(`must be an array of numbers or ${Words.name === 'Int32Array' ? 'an' : 'a'} ` +
          `${Words.name}`);
      }
      const copy = Words.from(values, (value, i) => at(`[${i}]`, () => checkElement(value)));
      arrays.push(swapped(Buffer.from(copy.buffer)));
      return arrays.length - 1;
    },
    Words,
  };
}

export const int32Words = words(Int32Array, int32.write);
// Log-probabilities may be -Infinity.
export const floatWords = words(Float32Array, (value) => {
  if (typeof value !== 'number') fail('must be a number');
  return value;
});

// A field that may be absent, or nil. Then its value is what `absent` makes, or the field is
// missing. An empty value is not sent if the absent value is also empty.
export function optional(kind, absent = () => undefined) {
  const omits = absent() !== undefined && absent().length === 0;
  return { ...kind, optional: true, absent, travels: (value) => !(omits && value.length === 0) };
}

export const defaulting = (kind, value) => optional(kind, () => value);
export const textOrEmpty = defaulting(string, '');
export const listOrEmpty = (kind) => optional(list(kind), () => []);

export function optionalWords(kind) {
  return optional(kind, () => new kind.Words(0));
}

// JSON that may be absent. An empty list counts as absent; any other value is sent, however long.
export const optionalJson = {
  ...optional(json, () => ''),
  travels: (value) => value !== '' && !(Array.isArray(value) && value.length === 0),
};

function camelCase(name) {
  return name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
}

function checkKeys(value, known) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    fail('must be an object');
  }
  for (const key of Object.keys(value)) {
    if (known.has(key) || value[key] === undefined) continue;
    const meant = known.has(camelCase(key)) ? `; did you mean ${camelCase(key)}?` : '';
    at(key, () => fail(`is not a field of this${meant}`));
  }
}

// A map. `kinds`: the name on the wire -> its kind, in the order of writing.
export function struct(kinds) {
  const fields = Object.entries(kinds)
    .map(([wire, kind]) => ({ wire, key: camelCase(wire), kind }));
  const known = new Set(fields.map(({ key }) => key));
  return {
    fields,
    read(map, arrays) {
      if (!(map instanceof Map)) fail('must be a map');
      const value = {};
      for (const { wire, key, kind } of fields) {
        const raw = map.get(wire) ?? null;
        if (raw !== null) value[key] = at(wire, () => kind.read(raw, arrays));
        else if (!kind.optional) at(wire, () => fail('is missing'));
        else if (kind.absent() !== undefined) value[key] = kind.absent();
      }
      return value;
    },
    write(value, arrays) {
      checkKeys(value, known);
      const map = {};
      for (const { wire, key, kind } of fields) {
        const given = value[key] ?? null;
        if (given !== null) {
          if (kind.travels?.(given) ?? true) map[wire] = at(wire, () => kind.write(given, arrays));
        } else if (!kind.optional) {
          at(wire, () => fail('is missing'));
        }
      }
      return map;
    },
  };
}

// A struct with a further step: `afterRead` and `beforeWrite` check or convert its values.
export function adapted(kind, afterRead, beforeWrite) {
  return {
    fields: kind.fields,
    read: (map, arrays) => afterRead(kind.read(map, arrays), fail),
    write: (value, arrays) => kind.write(beforeWrite(value), arrays),
  };
}
