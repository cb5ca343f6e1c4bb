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
  /** Aborted, the call fails with the signal's reason at once. */
  signal?: AbortSignal;
}

/**
 * Give endpoint or runDir, or neither: then it is the first of the places of defaultEndpoint() at
 * which a daemon listens. Times in milliseconds.
 */
export interface ConnectOptions extends CallOptions {
  /** 'ipc://PATH' or 'tcp://HOST:PORT'. */
  endpoint?: string;
  /** That of the daemon: the endpoint is its cascaded.sock. */
  runDir?: string;
  /**
   * For connecting, also to a daemon that loads its model, and for answers that come at once
   * (5000).
   */
  timeoutMs?: number;
  /** A daemon that is silent for so long while requests are in flight gets a Ping (10000). */
  silenceMs?: number;
  /** A generation of which nothing came for so long is lost, even if the daemon answers (60000). */
  lostMs?: number;
  /** ZeroMQ's own heartbeats (5000), and how long the other side may be silent (15000). */
  heartbeatIntervalMs?: number;
  heartbeatTimeoutMs?: number;
  /** Of tcp:// endpoints: the daemon's public key; default $CASCADE_SERVER_KEY. */
  serverKey?: string;
  /** The file of the client's own pair (`cascadectl key new --curve`), or $CASCADE_KEY_FILE. */
  keyFile?: string;
  /**
   * The model that all requests are meant for; default: the daemon's default model. One that is not
   * loaded is loaded by the first request that needs it.
   */
  model?: string;
}

export interface GenerateOptions extends CallOptions {
  /**
   * False cancels the generation: it ends with what it has so far, finishReason 'cancelled', and
   * nothing more is told. What this throws cancels it, too, and is the error of the call.
   */
  onEvent?: (event: GenerationEvent) => boolean | void;
}

export interface BatchOptions extends CallOptions {
  /** The same; `index` is the request's place in the batch. */
  onEvent?: (index: number, event: GenerationEvent) => boolean | void;
}

/** A chunk of a list. */
export interface ChunkInfo {
  chunk: Chunk;
  /** Of its text. */
  tokens: number;
}

/**
 * Connects and exchanges a Ping. `options`: a string is an endpoint.
 * Fails with `unavailable`, field 'endpoint', if no daemon answers, or field 'loading' if it loads
 * its model for longer than timeoutMs; with `invalid_argument` if an option or the endpoint is
 * none.
 */
export function connect(options?: ConnectOptions | string): Promise<Client>;

/**
 * $CASCADE_ENDPOINT; else the first cascaded.sock that exists in these folders, of which all but
 * the last count only if they are this user's: /run/cascaded, $XDG_RUNTIME_DIR/cascaded,
 * /run/user/UID/cascaded, /tmp/cascaded-UID, /run/cascaded; else that in /run/cascaded.
 */
export function defaultEndpoint(): string;

/** A reference by id: to an output if the id says so, else of type `otherwise` (CONTEXT). */
export function chunkReference(id: string, otherwise?: ChunkType): ChunkRef;

/**
 * One connection to the daemon, with any number of requests in flight. All calls fail with
 * CascadeError: what the daemon answered with, what is wrong with the arguments
 * (`invalid_argument`), or `unavailable` with the field 'endpoint': the daemon is not there, does
 * not answer, was restarted, or the connection broke, which all requests in flight fail with. The
 * next call connects again. Prefixes that the lost connection referred to are gone then.
 *
 * An open client keeps the process alive: close() it, or declare it with `await using`.
 */
export class Client implements AsyncDisposable {
  private constructor();
  static connect(options?: ConnectOptions | string): Promise<Client>;

  readonly endpoint: string;
  /** As the daemon said in its last Pong: another one after each start of it. */
  readonly bootId: string;
  readonly daemonVersion: string;
  /**
   * Whether all that this client changed so far outlives the daemon. False while its disk takes no
   * writes.
   */
  readonly allDurable: boolean;

  /** What is in flight fails with `cancelled`, field 'client'; the daemon cancels generations. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  ping(options?: CallOptions): Promise<void>;
  status(options?: CallOptions): Promise<StatusReply>;

  /** An aborted signal cancels the generation. */
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<Generation>;
  /** The same, as an async iterator. It begins at once. */
  stream(request: GenerateRequest, options?: CallOptions): GenerationStream;
  /**
   * At most 256, all in flight at once. Each ends with a Generation or an error of its own, in the
   * order of the requests; nothing is tried again.
   */
  generateBatch(
    requests: GenerateRequest[],
    options?: BatchOptions,
  ): Promise<(Generation | CascadeError)[]>;
  /**
   * Ends a generation with what it has so far; `target`: the stream, or its id. Fails with
   * `not_found` if it neither waits nor runs.
   */
  cancel(target: GenerationStream | Uint8Array, options?: CallOptions): Promise<void>;

  /** The same type and text again is the same chunk. */
  putChunk(type: ChunkType, text: string, options?: CallOptions): Promise<Chunk>;
  putChunk(put: ChunkPut, options?: CallOptions): Promise<Chunk>;
  /** One page, newest first. */
  listChunks(request?: ChunkListRequest, options?: CallOptions): Promise<ChunkListReply>;
  /** All pages, newest first, up to `countMax` chunks (100000); `type` undefined: of all types. */
  listAllChunks(type?: ChunkType, countMax?: number, options?: CallOptions): Promise<ChunkInfo[]>;
  /** Chunks in whose name, text or question all words of `query` stand; `limit` 1 to 1000 (20). */
  searchChunks(query: string, limit?: number, options?: CallOptions): Promise<ChunkSearchHit[]>;
  /** `id`, here and below: an id, or a prefix of at least 8 characters that names one chunk. */
  getChunk(id: string, options?: CallOptions): Promise<Chunk>;
  /** Gives up a holder: that of `name`, all, or a retention. Without holders the chunk is gone. */
  deleteChunk(
    id: string,
    options?: CallOptions & { name?: string; all?: boolean },
  ): Promise<ChangedChunk>;
  /** All that is given, or nothing; the chunk as it is now. These are its parts: */
  updateChunk(update: ChunkUpdate, options?: CallOptions): Promise<ChangedChunk>;
  /** '': no name. */
  renameChunk(id: string, name: string, options?: CallOptions): Promise<ChangedChunk>;
  /** Counts as a use. */
  touchChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  pinChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  /** With the last pin ends what is over; the chunk may be `gone` then. */
  unpinChunk(id: string, options?: CallOptions): Promise<ChangedChunk>;
  /** From now; 0: never expires. */
  setChunkTtl(id: string, ttlMs: Int64, options?: CallOptions): Promise<ChangedChunk>;
  /** 0 to 100; `durationMs` undefined: for good. */
  setChunkPriority(
    id: string,
    priority: number,
    durationMs?: Int64,
    options?: CallOptions,
  ): Promise<ChangedChunk>;

  /** Conversations by name, made by generations with `session`; that used last first. */
  listSessions(limit?: number, options?: CallOptions): Promise<SessionInfo[]>;
  getSession(id: string, options?: CallOptions): Promise<SessionReply>;
  /** The session as it was. With `outputs`, its turns' outputs go that nobody else holds. */
  deleteSession(id: string, outputs?: boolean, options?: CallOptions): Promise<SessionReply>;

  /** How long chunks live by default, for the types that expire. */
  expiryPolicies(options?: CallOptions): Promise<ExpiryPolicy[]>;
  /** For chunks that are registered from now on; 0: they do not expire. */
  setExpiryPolicy(type: ChunkType, ttlMs: Int64, options?: CallOptions): Promise<ExpiryPolicy[]>;

  /**
   * Computes what prompts will begin with, and keeps it until it was released as often as it was
   * cached and attached, or this connection ends.
   */
  cachePrefix(prefix: PrefixCache, options?: CallOptions): Promise<PrefixReply>;
  attachPrefix(id: string, options?: CallOptions): Promise<PrefixReply>;
  releasePrefix(id: string, options?: CallOptions): Promise<PrefixReply>;

  /** The ids of a text as it stands in a prompt: special tokens in it are not recognised. */
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

  /** The id of the chunk. */
  registerChunk(text: string, type: ChunkType, options?: CallOptions): Promise<string>;
  /** Answers `query` and keeps the answer as an output chunk. No system prompt if it is ''. */
  generateAndRetainOutput(
    systemPrompt: string,
    query: string,
    params?: GenerateParams,
    options?: GenerateOptions,
  ): Promise<Generation>;
  /** Chunks by id: no system prompt if it is ''; contexts and outputs in order; a query. */
  generateFromChunks(
    systemChunkId: string,
    contextChunkIds: string[],
    queryChunkId: string,
    params?: GenerateParams,
    options?: GenerateOptions,
  ): Promise<Generation>;
  /** The output chunks, newest first. */
  getRetainedSequences(options?: CallOptions): Promise<ChunkInfo[]>;
  /** Gives up a retention of an output, which is deleted if nobody else holds it. */
  releaseRetainedSequence(id: string, options?: CallOptions): Promise<void>;
  /** What chunks and pages take, and what the cache did. */
  getChunkStats(options?: CallOptions): Promise<StatsReply>;

  /**
   * What happens to chunks and requests of this tenant from this call on; with `since`, what came
   * behind that number first.
   */
  events(options?: EventsOptions): EventStream;

  /** The daemon's models. */
  listModels(options?: CallOptions): Promise<ModelListReply>;
  /** Resolves when it is loaded. By the tenant 'local' only, as the next two. */
  loadModel(name: string, options?: CallOptions): Promise<ModelInfo>;
  /** What loading it would take; nothing is loaded. */
  estimateModel(name: string, options?: CallOptions): Promise<ModelInfo>;
  /** Resolves when its memory is free; its chunks stay on disk. */
  unloadModel(name: string, options?: CallOptions): Promise<ModelInfo>;

  /**
   * Verifies all that the daemon has on disk, and repairs it if `repair`. It may take minutes. A
   * `stateDir` that is not the daemon's is refused (`conflict`); '': whichever it is.
   */
  fsck(repair?: boolean, stateDir?: string, options?: CallOptions): Promise<FsckReply>;
  /** The same, copied to `directory`: an absolute path of the daemon's machine, new or empty. */
  backup(directory: string, stateDir?: string, options?: CallOptions): Promise<BackupReply>;
}

/**
 * The events of a generation; the last has the type 'final'. An error ends it by being thrown. A
 * loop that is left early cancels the generation. What nobody iterates over is kept until the end.
 */
export class GenerationStream implements AsyncIterableIterator<StreamEvent> {
  private constructor();
  /** The 16 bytes of the request id. */
  readonly id: Uint8Array;
  /** How it ends, also for who does not iterate. */
  result(): Promise<Generation>;
  /**
   * Ends it with what it has so far, finishReason 'cancelled'. Resolves when the daemon has
   * confirmed; a generation that has ended is no error.
   */
  cancel(): Promise<void>;
  next(): Promise<IteratorResult<StreamEvent, undefined>>;
  return(): Promise<IteratorResult<StreamEvent, undefined>>;
  [Symbol.asyncIterator](): this;
}
