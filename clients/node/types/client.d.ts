// The client and its streams.
import type {
  ChangedChunk,
  Chunk,
  ChunkListReply,
  ChunkListRequest,
  ChunkPut,
  ChunkRef,
  ChunkSearchHit,
  ChunkType,
  ChunkUpdate,
  ExpiryPolicy,
  Int64,
  SessionInfo,
  SessionReply,
} from './chunks.js';
import type { CascadeError } from './error.js';
import type { EventStream, EventsOptions } from './events.js';
import type {
  ChatMessage,
  GenerateParams,
  GenerateRequest,
  Generation,
  GenerationEvent,
  PrefixCache,
  PrefixReply,
  StreamEvent,
} from './generation.js';
import type {
  BackupReply, FsckReply, ModelInfo, ModelListReply, StatsReply, StatusReply,
} from './service.js';
import type {
  ApplyTemplateReply,
  DetokenizeOptions,
  DetokenizeReply,
  TemplateOptions,
  TokenizeOptions,
} from './tokens.js';

export interface CallOptions {
  /** If it is aborted, the call fails at once with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Give endpoint or runDir, or neither. With neither, the client uses the first of the places of
 * defaultEndpoint() at which a daemon listens. Times are in milliseconds.
 */
export interface ConnectOptions extends CallOptions {
  /** 'ipc://PATH' or 'tcp://HOST:PORT'. */
  endpoint?: string;
  /** The daemon's run directory: the endpoint is the cascaded.sock in it. */
  runDir?: string;
  /**
   * The time for connecting, also to a daemon that is loading its model, and for answers that come
   * at once (5000).
   */
  timeoutMs?: number;
  /** After this much silence while requests are in flight, the daemon gets a Ping (10000). */
  silenceMs?: number;
  /**
   * A generation is lost if nothing of it comes for this long, even if the daemon answers (60000).
   */
  lostMs?: number;
  /**
   * The interval of ZeroMQ's own heartbeats (5000), and how long the other side may be silent
   * (15000).
   */
  heartbeatIntervalMs?: number;
  heartbeatTimeoutMs?: number;
  /** For tcp:// endpoints: the daemon's public key; by default $CASCADE_SERVER_KEY. */
  serverKey?: string;
  /**
   * The file of the client's own pair (`cascadectl key new --curve`); by default $CASCADE_KEY_FILE.
   */
  keyFile?: string;
  /**
   * The model for all requests; by default the daemon's default model. The first request that needs
   * a model which is not loaded loads it.
   */
  model?: string;
}

export interface GenerateOptions extends CallOptions {
  /**
   * Returning false cancels the generation: it ends with what it has so far and finishReason
   * 'cancelled', and no more events come. Throwing cancels it too, and the thrown error is the
   * error of the call.
   */
  onEvent?: (event: GenerationEvent) => boolean | void;
}

export interface BatchOptions extends CallOptions {
  /** Like GenerateOptions.onEvent; `index` is the request's place in the batch. */
  onEvent?: (index: number, event: GenerationEvent) => boolean | void;
}

/** A chunk in a list. */
export interface ChunkInfo {
  chunk: Chunk;
  /** The tokens of its text. */
  tokens: number;
}

/**
 * Connects and exchanges a Ping. If `options` is a string, it is an endpoint. Fails with
 * `unavailable`: field 'endpoint' if no daemon answers, field 'loading' if the daemon takes longer
 * than timeoutMs to load its model. Fails with `invalid_argument` if an option or the endpoint is
 * invalid.
 */
export function connect(options?: ConnectOptions | string): Promise<Client>;

/**
 * $CASCADE_ENDPOINT; else the first cascaded.sock that exists in these folders: the first folder of
 * $RUNTIME_DIRECTORY; of those that are this user's, /run/cascaded, $XDG_RUNTIME_DIR/cascaded,
 * /run/user/UID/cascaded and /tmp/cascaded-UID; /run/cascaded, whoever owns it. If none exists, the
 * one in /run/cascaded.
 */
export function defaultEndpoint(): string;

/**
 * A reference to a chunk by id: an output if the id says so, else of type `otherwise` (CONTEXT).
 */
export function chunkReference(id: string, otherwise?: ChunkType): ChunkRef;

/**
 * One connection to the daemon, with any number of requests in flight. All calls fail with
 * CascadeError: the daemon's own; `invalid_argument` if an argument is wrong; or `unavailable` with
 * the field 'endpoint' if the daemon is not there, does not answer or was restarted, or if the
 * connection broke. If the connection broke, all requests in flight fail with that error. The next
 * call connects again. The prefixes of a lost connection are gone.
 *
 * An open client keeps the process alive: close() it, or declare it with `await using`.
 */
export class Client implements AsyncDisposable {
  private constructor();
  static connect(options?: ConnectOptions | string): Promise<Client>;

  readonly endpoint: string;
  /** From the daemon's last Pong; changes with each start of the daemon. */
  readonly bootId: string;
  readonly daemonVersion: string;
  /**
   * Whether all changes that this client made so far will outlive the daemon. False while the
   * daemon's disk accepts no writes.
   */
  readonly allDurable: boolean;

  /** Requests in flight fail with `cancelled`, field 'client'; the daemon cancels generations. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  ping(options?: CallOptions): Promise<void>;
  status(options?: CallOptions): Promise<StatusReply>;

  /** An aborted signal cancels the generation. */
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<Generation>;
  /** Like generate(), but returns an async iterator. The generation begins at once. */
  stream(request: GenerateRequest, options?: CallOptions): GenerationStream;
  /**
   * At most 256 requests, all in flight at once. The results have the order of the requests; each
   * is a Generation or an error of its own. Nothing is tried again.
   */
  generateBatch(
    requests: GenerateRequest[],
    options?: BatchOptions,
  ): Promise<(Generation | CascadeError)[]>;
  /**
   * Ends a generation with what it has so far. `target` is the stream or its id. Fails with
   * `not_found` if the generation neither waits nor runs.
   */
  cancel(target: GenerationStream | Uint8Array, options?: CallOptions): Promise<void>;

  /** The same type and text again gives the same chunk. */
  putChunk(type: ChunkType, text: string, options?: CallOptions): Promise<Chunk>;
  putChunk(put: ChunkPut, options?: CallOptions): Promise<Chunk>;
  /** One page of the list, newest first. */
  listChunks(request?: ChunkListRequest, options?: CallOptions): Promise<ChunkListReply>;
  /** All pages, newest first, up to `countMax` chunks (100000). `type` undefined: all types. */
  listAllChunks(type?: ChunkType, countMax?: number, options?: CallOptions): Promise<ChunkInfo[]>;
  /** Chunks whose name, text or question contains all words of `query`; `limit` 1 to 1000 (20). */
  searchChunks(query: string, limit?: number, options?: CallOptions): Promise<ChunkSearchHit[]>;
  /** `id`, here and below, is an id, or a prefix of at least 8 characters that names one chunk. */
  getChunk(id: string, options?: CallOptions): Promise<Chunk>;
  /**
   * Gives up one holder: the one of `name`, or a retention; with `all`, all holders. A chunk
   * without holders is deleted.
   */
  deleteChunk(
    id: string,
    options?: CallOptions & { name?: string; all?: boolean },
  ): Promise<ChangedChunk>;
  /**
   * Makes all of the given changes, or none. Returns the chunk as it is afterwards. Each of the
   * calls below makes one of these changes:
   */
  updateChunk(update: ChunkUpdate, options?: CallOptions): Promise<ChangedChunk>;
  /** An empty `name` means that the chunk has none. */
  renameChunk(id: string, name: string, options?: CallOptions): Promise<ChangedChunk>;
  /** Counts as a use. */
  touchChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  pinChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  /** With the last pin, the holders whose time is over end too; the chunk may then be `gone`. */
  unpinChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  /** The time counts from now on; 0: the chunk never expires. */
  setChunkTtl(id: string, ttlMs: Int64, options?: CallOptions): Promise<ChangedChunk>;
  /** `priority` is 0 to 100. `durationMs` undefined: permanently. */
  setChunkPriority(
    id: string,
    priority: number,
    durationMs?: Int64,
    options?: CallOptions,
  ): Promise<ChangedChunk>;

  /** Named conversations, which generations with `session` create; most recently used first. */
  listSessions(limit?: number, options?: CallOptions): Promise<SessionInfo[]>;
  getSession(id: string, options?: CallOptions): Promise<SessionReply>;
  /**
   * Returns the session as it was. With `outputs`, also deletes the outputs of its turns that
   * nobody else holds.
   */
  deleteSession(id: string, outputs?: boolean, options?: CallOptions): Promise<SessionReply>;

  /** The default time to live of chunks, for the types that expire. */
  expiryPolicies(options?: CallOptions): Promise<ExpiryPolicy[]>;
  /** Applies to chunks that are registered from now on; 0: they do not expire. */
  setExpiryPolicy(type: ChunkType, ttlMs: Int64, options?: CallOptions): Promise<ExpiryPolicy[]>;

  /**
   * Computes a common beginning of later prompts. It is kept until it was released as often as it
   * was cached and attached, or until this connection ends.
   */
  cachePrefix(prefix: PrefixCache, options?: CallOptions): Promise<PrefixReply>;
  attachPrefix(id: string, options?: CallOptions): Promise<PrefixReply>;
  releasePrefix(id: string, options?: CallOptions): Promise<PrefixReply>;

  /** The ids of a text inside a prompt: special tokens in the text are not recognised. */
  tokenize(text: string, how?: TokenizeOptions, options?: CallOptions): Promise<Int32Array>;
  detokenize(
    tokenIds: Int32Array | number[],
    how?: DetokenizeOptions,
    options?: CallOptions,
  ): Promise<DetokenizeReply>;
  /** The prompt that a conversation makes, as text and as ids. */
  applyTemplate(
    messages: ChatMessage[],
    how?: TemplateOptions,
    options?: CallOptions,
  ): Promise<ApplyTemplateReply>;

  /** Returns the id of the chunk. */
  registerChunk(text: string, type: ChunkType, options?: CallOptions): Promise<string>;
  /** Answers `query` and keeps the answer as an output chunk. '' as `systemPrompt` means none. */
  generateAndRetainOutput(
    systemPrompt: string,
    query: string,
    params?: GenerateParams,
    options?: GenerateOptions,
  ): Promise<Generation>;
  /**
   * Composes chunks by id: a system prompt ('' means none), contexts and outputs in order, a query.
   */
  generateFromChunks(
    systemChunkId: string,
    contextChunkIds: string[],
    queryChunkId: string,
    params?: GenerateParams,
    options?: GenerateOptions,
  ): Promise<Generation>;
  /** The output chunks, newest first. */
  getRetainedSequences(options?: CallOptions): Promise<ChunkInfo[]>;
  /** Gives up one retention of an output, which is deleted if nobody else holds it. */
  releaseRetainedSequence(id: string, options?: CallOptions): Promise<void>;
  /** The space that chunks and pages take, and what the cache did. */
  getChunkStats(options?: CallOptions): Promise<StatsReply>;

  /**
   * The events of this tenant's chunks and requests from this call on; with `since`, the events
   * after that number come first.
   */
  events(options?: EventsOptions): EventStream;

  /** The daemon's models. */
  listModels(options?: CallOptions): Promise<ModelListReply>;
  /** Resolves when the model is loaded. Only for the tenant 'local', as are the next two. */
  loadModel(name: string, options?: CallOptions): Promise<ModelInfo>;
  /** What loading the model would take; nothing is loaded. */
  estimateModel(name: string, options?: CallOptions): Promise<ModelInfo>;
  /** Resolves when the model's memory is free; its chunks stay on disk. */
  unloadModel(name: string, options?: CallOptions): Promise<ModelInfo>;

  /**
   * Verifies everything that the daemon has on disk, and repairs it if `repair`. It may take
   * minutes. A `stateDir` that is not the daemon's is refused (`conflict`); '' matches any.
   */
  fsck(repair?: boolean, stateDir?: string, options?: CallOptions): Promise<FsckReply>;
  /**
   * Copies everything to `directory`: an absolute path of the daemon's machine, new or empty.
   * Otherwise like fsck().
   */
  backup(directory: string, stateDir?: string, options?: CallOptions): Promise<BackupReply>;
}

/**
 * The events of a generation; the last one has the type 'final'. If the generation fails, its error
 * is thrown. Leaving a loop early cancels the generation. Events that nobody iterates over are kept
 * until the end.
 */
export class GenerationStream implements AsyncIterableIterator<StreamEvent> {
  private constructor();
  /** The 16 bytes of the request id. */
  readonly id: Uint8Array;
  /** Resolves to the end of the generation, also if nobody iterates. */
  result(): Promise<Generation>;
  /**
   * Ends the generation with what it has so far, finishReason 'cancelled'. Resolves when the daemon
   * has confirmed. It is not an error if the generation has ended.
   */
  cancel(): Promise<void>;
  next(): Promise<IteratorResult<StreamEvent, undefined>>;
  return(): Promise<IteratorResult<StreamEvent, undefined>>;
  [Symbol.asyncIterator](): this;
}
