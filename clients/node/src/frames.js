// Messages <-> ZeroMQ frames: the envelope of the protocol and its limits.
import { encode as encodeMessagePack } from '@msgpack/msgpack';

import { readBody } from './body.js';
import { CascadeError, invalidArgument } from './error.js';
import { namingFields } from './fields.js';
import { FRAMES_MAX, FRAMES_MIN, MESSAGE_BYTES_MAX, REQUEST_ID_BYTES } from './limits.js';
import { messageNames, messages } from './messages.js';

const MAGIC = 'CAS1';
const VERSION = 1;
const ABOUT_MODELS = ['ModelListRequest', 'ModelLoad', 'ModelUnload'];
const HEADER_BYTES = 8; // magic, version, type, flags

// `message` holds the fields in camel case. Throws CascadeError invalid_argument that names a field
// of the protocol which is missing, of another type, unknown, or beyond a limit of all messages.
// `model` is the model for which the message is meant; undefined: the default model.
export function encode(name, message, requestId, model = undefined) {
  const arrays = [];
  const map = namingFields(() => messages[name].write(message, arrays));
  if (model !== undefined && !ABOUT_MODELS.includes(name)) map.model = model;
  const header = Buffer.from([...Buffer.from(MAGIC), VERSION, messageNames.indexOf(name), 0, 0]);
  // Here integers of more than 32 bits are bigints.
  const body = encodeMessagePack(map, { useBigInt64: true });
  const frames = [header, Buffer.from(requestId), body, ...arrays];
  checkSizes(frames);
  return frames;
}

function checkSizes(frames) {
  if (frames.length < FRAMES_MIN || frames.length > FRAMES_MAX) {
    throw invalidArgument('frames', `a message has between ${FRAMES_MIN} and ${FRAMES_MAX} ` +
      `frames, got ${frames.length}`);
  }
  const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  if (bytes > MESSAGE_BYTES_MAX) {
    throw invalidArgument('frames', `have ${bytes} bytes, more than the limit of ` +
      `${MESSAGE_BYTES_MAX}`);
  }
  if (frames[1].length !== REQUEST_ID_BYTES) {
    throw invalidArgument('request_id', `must have ${REQUEST_ID_BYTES} bytes, got ` +
      `${frames[1].length}`);
  }
}

// Returns the name of the message.
function checkHeader(header) {
  if (header.length !== HEADER_BYTES) {
    throw invalidArgument('header', `must have ${HEADER_BYTES} bytes, got ${header.length}`);
  }
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw invalidArgument('magic', `the message does not begin with ${MAGIC}`);
  }
  const [version, type, ...flags] = header.subarray(MAGIC.length);
  if (version !== VERSION) {
    throw new CascadeError('unsupported', 'version', `protocol version ${version} is not ` +
      `supported; this is version ${VERSION}`);
  }
  if (flags.some((flag) => flag !== 0)) throw invalidArgument('flags', 'must be 0');
  if (type >= messageNames.length) {
    throw new CascadeError('unsupported', 'type', `message type ${type} is unknown`);
  }
  return messageNames[type];
}

// `frames` are Buffers from anyone. Returns { name, message }. Throws the CascadeError that the
// daemon would answer: `unsupported` (field version or type), else invalid_argument with the field.
export function decode(frames) {
  checkSizes(frames);
  const name = checkHeader(frames[0]);
  const map = readBody(frames[2]);
  const arrays = frames.slice(FRAMES_MIN);
  return { name, message: namingFields(() => messages[name].read(map, arrays)) };
}

// The request id in hexadecimal, by which a reply finds its request; undefined if there is none.
export function requestKey(frames) {
  return frames[1]?.length === REQUEST_ID_BYTES ? frames[1].toString('hex') : undefined;
}
