// The client, with one method for each request to the daemon. types/client.d.ts says what each
// method does, takes and returns.
import { abortable } from './abort.js';
import { endpointOfRunDir, findEndpoint } from './endpoint.js';
import { CascadeError, invalidArgument } from './error.js';
import { EventStream } from './event_stream.js';
import { Exchange } from './exchange.js';
import { encode } from './frames.js';
import { GenerationStream } from './generation_stream.js';
import { newRequestId } from './request_id.js';
import { Running } from './running.js';

const OPTIONS = {
  timeoutMs: 5_000,
  silenceMs: 10_000,
  lostMs: 60_000,
  heartbeatIntervalMs: 5_000,
  heartbeatTimeoutMs: 15_000,
};
// The largest number of requests of one batch. The daemon's queue (64 by default) is far smaller,
// and ZeroMQ holds 1,000 messages for a daemon that is slow to read.
const BATCH_REQUESTS_MAX = 256;
const CHUNKS_MAX = 100_000; // the most that a tenant can have
const TIMER_MS_MAX = 2 ** 31 - 1; // the most that timers and ZeroMQ accept

function checkOptions({ endpoint, runDir, signal, serverKey, keyFile, model, ...numbers }) {
  if (endpoint !== undefined && runDir !== undefined) {
    throw invalidArgument('endpoint', 'give either endpoint or runDir, not both');
  }
  if (runDir !== undefined && (typeof runDir !== 'string' || runDir === '')) {
    throw invalidArgument('runDir', 'must be the path of a folder');
  }
  for (const [name, value] of Object.entries({ serverKey, keyFile, model })) {
    if (value !== undefined && typeof value !== 'string') {
      throw invalidArgument(name, 'must be a string');
    }
  }
  for (const [name, value] of Object.entries(numbers)) {
    if (!Object.hasOwn(OPTIONS, name)) throw invalidArgument(name, 'is not an option of connect()');
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= TIMER_MS_MAX)) {
      continue;
    }
    throw invalidArgument(name, `must be a whole number of milliseconds from 1 to ${TIMER_MS_MAX}`);
  }
}

function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

export function chunkReference(id, otherwise = 'CONTEXT') {
  return { type: String(id).startsWith('output_') ? 'OUTPUT' : otherwise, id };
}

export class Client {
  #endpoint;
  #options;
  #exchange = null; // the connection, or the attempt to make one
  #opened = null; // a promise of that connection, fulfilled when it is open
  #bootId = '';
  #daemonVersion = '';
  #closed = false;
  #allDurable = true;
  #eventStreams = new Set();

  static async connect(options = {}) {
    const { signal, ...rest } = typeof options === 'string' ? { endpoint: options } : options;
    checkOptions(rest);
    const { endpoint, runDir, ...others } = rest;
    const place = endpoint ?? (runDir ? endpointOfRunDir(runDir) : await findEndpoint());
    const client = new Client(place, others);
    await abortable(client.#connected(), signal, () => client.close());
    return client;
  }

  constructor(endpoint, options) {
    this.#endpoint = endpoint;
    this.#options = { ...OPTIONS, ...given(options) };
  }

  get endpoint() {
    return this.#endpoint;
  }

  get bootId() {
    return this.#bootId;
  }

  get daemonVersion() {
    return this.#daemonVersion;
  }

  get allDurable() {
    return this.#allDurable;
  }

  async close() {
    if (this.#closed) return;
    this.#closed = true;
    const error = new CascadeError('cancelled', 'client', 'the client was closed');
    this.#exchange?.end(error, { lost: false });
    for (const events of this.#eventStreams) events.return();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  async ping(options) {
    await this.#call('Ping', {}, 'Pong', options);
  }

  status(options) {
    return this.#call('StatusRequest', {}, 'StatusReply', options);
  }

  async generate(request, { signal, onEvent } = {}) {
    const running = this.#generation(request, signal, onEvent);
    return this.#noting(await running.result);
  }

  stream(request, options) {
    const { model } = this.#options;
    const stream = new GenerationStream(() => this.#connected(), request, { ...options, model });
    stream.result().then((final) => this.#noting(final), () => {});
    return stream;
  }

  async generateBatch(requests, { signal, onEvent } = {}) {
    if (!Array.isArray(requests) || requests.length > BATCH_REQUESTS_MAX) {
      throw invalidArgument('requests', `must be an array of at most ${BATCH_REQUESTS_MAX}`);
    }
    const all = requests.map((request, i) =>
      this.generate(request, { signal, onEvent: onEvent && ((event) => onEvent(i, event)) }));
    const settled = await Promise.allSettled(all);
    return settled.map(({ value, reason }) => {
      if (reason === undefined || reason instanceof CascadeError) return value ?? reason;
      throw reason;
    });
  }

  async cancel(target, options) {
    const id = target instanceof GenerationStream ? target.id : target;
    await this.#call('CancelRequest', { target: id }, 'Ack', options);
  }

  putChunk(typeOrPut, text, options) {
    if (typeof typeOrPut === 'string') {
      return this.#chunkCall('ChunkPut', { type: typeOrPut, text }, options);
    }
    return this.#chunkCall('ChunkPut', typeOrPut, text);
  }

  listChunks(request = {}, options = undefined) {
    return this.#call('ChunkListRequest', request, 'ChunkListReply', options);
  }

  async listAllChunks(type, countMax = CHUNKS_MAX, options = undefined) {
    const all = [];
    for (let more = true; more && all.length < countMax;) {
      const after = all.at(-1)?.chunk.id;
      const page = await this.listChunks({ type, after }, options);
      page.chunks.forEach((chunk, i) => all.push({ chunk, tokens: page.tokenCounts[i] }));
      more = page.more && page.chunks.length > 0;
    }
    return all.slice(0, countMax);
  }

  async searchChunks(query, limit = 20, options = undefined) {
    return (await this.#call('ChunkSearch', { query, limit }, 'ChunkSearchReply', options)).hits;
  }

  getChunk(id, options) {
    return this.#chunkCall('ChunkGet', { id }, options);
  }

  deleteChunk(id, options = {}) {
    const { name = '', all = undefined, ...call } = options;
    return this.#change('ChunkDelete', { id, name, all }, call);
  }

  updateChunk(update, options) {
    return this.#change('ChunkUpdate', update, options);
  }

  renameChunk(id, name, options) {
    return this.updateChunk({ id, name }, options);
  }

  touchChunk(id, options) {
    return this.updateChunk({ id, touch: true }, options);
  }

  pinChunk(id, options) {
    return this.updateChunk({ id, pinned: true }, options);
  }

  unpinChunk(id, options) {
    return this.updateChunk({ id, pinned: false }, options);
  }

  setChunkTtl(id, ttlMs, options) {
    return this.updateChunk({ id, ttlMs }, options);
  }

  setChunkPriority(id, priority, durationMs, options) {
    return this.updateChunk({ id, priority, priorityMs: durationMs }, options);
  }

  async listSessions(limit = 1000, options = undefined) {
    const reply = await this.#call('SessionListRequest', { limit }, 'SessionListReply', options);
    return reply.sessions;
  }

  getSession(id, options) {
    return this.#call('SessionGet', { id }, 'SessionReply', options);
  }

  deleteSession(id, outputs = false, options = undefined) {
    return this.#call('SessionDelete', { id, outputs }, 'SessionReply', options);
  }

  async expiryPolicies(options) {
    return (await this.#call('PolicyGet', {}, 'PolicyReply', options)).policies;
  }

  async setExpiryPolicy(type, ttlMs, options) {
    return (await this.#call('PolicySet', { type, ttlMs }, 'PolicyReply', options)).policies;
  }

  cachePrefix(prefix, { signal } = {}) {
    return new Running(() => this.#connected(), 'PrefixCache', prefix, {
      expect: 'PrefixReply',
      signal,
      onLate: (exchange, late) => releasePrefixOf(exchange, late, this.#options.model),
      model: this.#options.model,
    }).result;
  }

  attachPrefix(id, options) {
    return this.#call('PrefixAttach', { id }, 'PrefixReply', options);
  }

  releasePrefix(id, options) {
    return this.#call('PrefixRelease', { id }, 'PrefixReply', options);
  }

  async tokenize(text, how = {}, options = undefined) {
    const reply = await this.#call('TokenizeRequest', { ...how, text }, 'TokenizeReply', options);
    return reply.tokenIds;
  }

  detokenize(tokenIds, how = {}, options = undefined) {
    return this.#call('DetokenizeRequest', { ...how, tokenIds }, 'DetokenizeReply', options);
  }

  applyTemplate(messages, how = {}, options = undefined) {
    return this.#call('ApplyTemplateRequest', { ...how, messages }, 'ApplyTemplateReply', options);
  }

  async registerChunk(text, type, options) {
    return (await this.putChunk(type, text, options)).id;
  }

  generateAndRetainOutput(systemPrompt, query, params = {}, options = undefined) {
    const chunks = [{ type: 'QUERY', text: query }];
    if (systemPrompt) chunks.unshift({ type: 'SYSTEM_PROMPT', text: systemPrompt });
    return this.generate({ ...params, chunks, retainOutput: true }, options);
  }

  async generateFromChunks(systemChunkId, contextChunkIds, queryChunkId, params = {},
    options = undefined) {
    if (!Array.isArray(contextChunkIds)) {
      throw invalidArgument('contextChunkIds', 'must be an array of ids');
    }
    const chunks = contextChunkIds.map((id) => chunkReference(id));
    if (systemChunkId) chunks.unshift({ type: 'SYSTEM_PROMPT', id: systemChunkId });
    chunks.push({ type: 'QUERY', id: queryChunkId });
    return this.generate({ ...params, chunks }, options);
  }

  getRetainedSequences(options) {
    return this.listAllChunks('OUTPUT', undefined, options);
  }

  async releaseRetainedSequence(id, options) {
    await this.deleteChunk(id, options);
  }

  getChunkStats(options) {
    return this.#call('StatsRequest', {}, 'StatsReply', options);
  }

  events({ since, bootId, signal } = {}) {
    if (this.#closed) throw invalidArgument('client', 'is closed');
    const ask = (request) => this.#call('EventsRequest', request, 'EventsReply');
    const events = new EventStream(this.#endpoint, ask, { since, bootId, signal }, () => {
      this.#eventStreams.delete(events);
    });
    this.#eventStreams.add(events);
    return events;
  }

  listModels({ signal } = {}) {
    return this.#call('ModelListRequest', {}, 'ModelListReply', { signal, patience: 'slow' });
  }

  loadModel(name, options) {
    return this.#modelCall('ModelLoad', { name }, options);
  }

  estimateModel(name, options) {
    return this.#modelCall('ModelLoad', { name, estimate: true }, options);
  }

  unloadModel(name, options) {
    return this.#modelCall('ModelUnload', { name }, options);
  }

  fsck(repair = false, stateDir = '', { signal } = {}) {
    const request = { repair, stateDir };
    return this.#call('FsckRequest', request, 'FsckReply', { signal, patience: 'slow' });
  }

  backup(directory, stateDir = '', { signal } = {}) {
    const request = { directory, stateDir };
    return this.#call('BackupRequest', request, 'BackupReply', { signal, patience: 'slow' });
  }

  #generation(request, signal, onEvent) {
    let goesOn = true;
    const running = Running.generation(() => this.#connected(), request, {
      readsDeltas: Boolean(onEvent),
      model: this.#options.model,
      signal,
      onEvent: onEvent && ((event) => {
        if (event.type === 'delta') running.deltaRead();
        if (!goesOn || onEvent(event) !== false) return;
        goesOn = false;
        running.cancel().catch(() => {});
      }),
    });
    return running;
  }

  async #modelCall(name, message, { signal } = {}) {
    return (await this.#call(name, message, 'ModelReply', { signal, patience: 'slow' })).model;
  }

  async #chunkCall(name, message, options) {
    return (await this.#call(name, message, 'ChunkReply', options)).chunk;
  }

  async #change(name, message, options) {
    const { chunk, ended, gone } = await this.#call(name, message, 'ChunkReply', options);
    // Older daemons say only by the chunk's holders whether it was deleted.
    return { ...chunk, ended, gone: gone === true || chunk.holders.length === 0 };
  }

  async #call(name, message, expect, { signal, patience } = {}) {
    signal?.throwIfAborted();
    const id = newRequestId();
    const { model } = this.#options;
    const frames = encode(name, message, id, model);
    const exchange = await abortable(this.#connected(), signal);
    const reply = exchange.request(id, frames, {
      expect,
      patience: model === undefined ? patience : 'slow', // the model may have to be loaded first
    });
    return this.#noting(await abortable(reply, signal, () => exchange.forget(id)));
  }

  #noting(reply) {
    if (reply.durable === false) this.#allDurable = false;
    return reply;
  }

  // After a connection was lost, the next caller makes a new one.
  async #connected() {
    if (this.#closed) throw invalidArgument('client', 'is closed');
    if (this.#exchange === null) {
      const exchange = new Exchange(this.#options, () => {
        this.#exchange = null;
      });
      this.#exchange = exchange;
      this.#opened = exchange.open(this.#endpoint).then(() => {
        this.#bootId = exchange.bootId;
        this.#daemonVersion = exchange.daemonVersion;
        return exchange;
      });
    }
    return this.#opened;
  }
}

// Releases a prefix that was computed before its cancellation came. It would otherwise be kept for
// as long as this connection lasts.
function releasePrefixOf(exchange, { id: prefix }, model) {
  const id = newRequestId();
  const frames = encode('PrefixRelease', { id: prefix }, id, model);
  exchange.request(id, frames, { expect: 'PrefixReply' }).catch(() => {});
}
