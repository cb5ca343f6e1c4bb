// The messages of the protocol, in the order of docs/protocol.md; types/ has their types.
import {
  adapted,
  boolean,
  bytes,
  floatWords,
  int32,
  int32Words,
  int64,
  list,
  number,
  optional,
  optionalJson,
  optionalWords,
  requestId,
  string,
  struct,
  uint64,
} from './fields.js';

const defaulting = (kind, value) => optional(kind, () => value);
const textOrEmpty = defaulting(string, '');
const listOrEmpty = (kind) => optional(list(kind), () => []);

const ChunkRef = struct({ type: string, id: textOrEmpty, text: textOrEmpty });

const ChatMessage = struct({
  role: string,
  content: string,
  reasoning: textOrEmpty,
  verbatim: defaulting(boolean, false),
  tool_calls: optionalJson,
  tool_call_id: textOrEmpty,
  name: textOrEmpty,
});

const LogitBias = struct({ token: int32, bias: number });

const Sampling = struct({
  temperature: optional(number),
  top_p: optional(number),
  top_k: optional(int32),
  min_p: optional(number),
  repetition_penalty: optional(number),
  seed: optional(uint64),
  presence_penalty: optional(number),
  frequency_penalty: optional(number),
  logit_bias: listOrEmpty(LogitBias),
});

const Grammar = struct({ kind: string, schema: optionalJson });

const Miss = struct({ reason: string, position: int64, known_token: int32 });

const Usage = struct({
  prompt_tokens: int64,
  reused_tokens: int64,
  loaded_tokens: defaulting(int64, 0),
  prefilled_tokens: int64,
  miss: optional(Miss, () => ({ reason: 'none', position: 0, knownToken: -1 })),
  completion_tokens: int64,
  reasoning_tokens: int64,
});

const Timings = struct({
  queue_us: int64,
  prefill_us: int64,
  first_token_us: int64,
  decode_us: int64,
  total_us: int64,
});

const ThinkSpan = struct({ begin: int32, end: int32, closed: boolean });

const GenerationRecord = struct({
  temperature: number,
  top_p: number,
  top_k: int32,
  min_p: number,
  repetition_penalty: number,
  seed: uint64,
  max_tokens: int32,
  finish_reason: string,
  presence_penalty: defaulting(number, 0),
  frequency_penalty: defaulting(number, 0),
  logit_bias_count: defaulting(int32, 0),
});

const Holder = struct({
  kind: string,
  label: textOrEmpty,
  count: defaulting(int64, 1),
  expires_us: defaulting(int64, 0),
  priority: defaulting(int32, 0),
  priority_until_us: defaulting(int64, 0),
  pinned: defaulting(boolean, false),
});

const chunkFields = {
  id: string,
  type: string,
  tenant: string,
  content_hash: string,
  text: string,
  query_text: textOrEmpty,
  raw_text: textOrEmpty,
  think_spans: listOrEmpty(ThinkSpan),
  think_policy: string,
  kv_state: string,
  kv_tokens: int64,
  kv_bytes: int64,
  kv_disk_pages: defaulting(int64, 0),
  kv_disk_bytes: defaulting(int64, 0),
  kv_key: textOrEmpty,
  kv_begin: defaulting(int64, 0),
  generation: GenerationRecord,
  created_us: int64,
  last_used_us: int64,
  hits: int64,
  pinned: boolean,
  expires_us: int64,
  priority: int32,
  priority_until_us: defaulting(int64, 0),
  name: textOrEmpty,
  registrations: defaulting(int64, 1),
  parent_ids: listOrEmpty(string),
  published: defaulting(boolean, false),
  client_data: textOrEmpty,
  holders: listOrEmpty(Holder),
};

const Chunk = struct({ ...chunkFields, token_ids: optionalWords(int32Words) });

// The chunks of a list share one array of token ids; each chunk has the number of its own.
const ListedChunk = struct({ ...chunkFields, token_count: int64 });
const ChunkListReply = adapted(
  struct({
    chunks: list(ListedChunk),
    token_ids: optionalWords(int32Words),
    token_counts: list(int64),
    more: boolean,
  }),
  ({ chunks, tokenIds, tokenCounts, more }, fail) => {
    let begin = 0;
    const own = chunks.map(({ tokenCount, ...chunk }) => {
      const left = tokenIds.length - begin;
      if (tokenCount < 0 || tokenCount > left) fail('has fewer token ids than its chunks count');
      begin += tokenCount;
      return { ...chunk, tokenIds: tokenIds.slice(begin - tokenCount, begin) };
    });
    if (begin !== tokenIds.length) fail('has more token ids than its chunks count');
    if (tokenCounts.length !== chunks.length) fail('does not have one token count for each chunk');
    return { chunks: own, tokenCounts, more };
  },
  ({ chunks, tokenCounts, more }) => ({
    chunks: chunks.map(({ tokenIds, ...chunk }) => ({ ...chunk, tokenCount: tokenIds.length })),
    tokenIds: chunks.flatMap(({ tokenIds }) => Array.from(tokenIds)),
    tokenCounts,
    more,
  }),
);

const ChunkSearchHit = struct({ id: string, type: string, name: textOrEmpty, snippet: string });

const ChunkGroup = struct({
  tenant: string,
  type: string,
  chunks: int64,
  pinned: int64,
  hits: int64,
  registrations: int64,
  text_bytes: int64,
  kv_bytes: int64,
  kv_disk_bytes: defaulting(int64, 0),
});

const CacheStats = struct({
  policy: string,
  page_bytes: int64,
  pages_max: int64,
  pages_used: int64,
  pages_pinned: int64,
  pages_pin_promised: int64,
  pages_pinned_max: int64,
  pages_held: int64,
  pages_held_max: int64,
  page_hits: int64,
  page_misses: int64,
  evicted: int64,
  removed_dead: int64,
  removed_deleted: int64,
  removed_expired: int64,
  evicted_early: int64,
  working_set_bytes: int64,
  thrashing: boolean,
  thrash_alarms: int64,
  refault_share: number,
  recompute_bonus_s: number,
  chunk_bytes: defaulting(int64, 0),
  chunk_disk_bytes: defaulting(int64, 0),
  saved_tokens: defaulting(int64, 0),
  saved_us: defaulting(int64, 0),
  saved_bytes: defaulting(int64, 0),
});

const Loading = struct({ done_bytes: int64, total_bytes: int64 });
const DiskStats = struct({
  pages: int64,
  page_bytes: int64,
  pages_written: int64,
  pages_loaded: int64,
  pages_bad: int64,
  pages_removed: int64,
  load_bytes_per_s: int64,
});

const ModelInfo = struct({
  name: string,
  state: string,
  default: boolean,
  path: textOrEmpty,
  format: string,
  weight_type: string,
  disk_bytes: int64,
  weights_bytes: int64,
  kv_bytes: int64,
  other_bytes: int64,
  total_bytes: int64,
  requests: int64,
  last_used_us: int64,
  problem: textOrEmpty,
});
const FsckFinding = struct({ where: string, what: string, repaired: boolean });

const SessionInfo = struct({ id: string, created_us: int64, last_used_us: int64, turns: int64 });
const SessionTurn = struct({ number: int64, output_id: string });
const SessionOutput = struct({ id: string, gone: boolean, held_by: textOrEmpty });
const ExpiryPolicy = struct({ type: string, ttl_ms: int64 });

const EventNotice = struct({
  sequence: int64,
  boot_id: string,
  time_us: int64,
  kind: string,
  id: string,
  type: optional(string),
  tokens: defaulting(int64, 0),
  reason: textOrEmpty,
});

const ErrorBody = struct({ code: string, field: string, message: string });

// The settings of a chunk that is registered or changed.
const chunkSettings = {
  name: optional(string),
  pinned: optional(boolean),
  ttl_ms: optional(int64),
  priority: optional(int32),
  priority_ms: optional(int64),
};

const prompts = {
  chunks: listOrEmpty(ChunkRef),
  messages: listOrEmpty(ChatMessage),
  prompt: optional(string),
};

const requests = {
  Ping: struct({}),
  StatusRequest: struct({}),
  GenerateRequest: struct({
    ...prompts,
    max_tokens: optional(int32),
    sampling: optional(Sampling),
    stop: listOrEmpty(string),
    ignore_eos: optional(boolean),
    thinking: optional(boolean),
    retain_output: optional(boolean),
    think_policy: optional(string),
    stream: optional(boolean),
    logprobs: optional(boolean),
    timeout_ms: optional(int64),
    reuse: optional(boolean),
    top_logprobs: optional(int32),
    output_name: optional(string),
    output_pinned: optional(boolean),
    output_ttl_ms: optional(int64),
    output_priority: optional(int32),
    output_priority_ms: optional(int64),
    prompt_priority: optional(int32),
    prompt_priority_ms: optional(int64),
    session: textOrEmpty,
    previous_output: textOrEmpty,
    parents: listOrEmpty(string),
    on_missing: optional(string),
    client_data: textOrEmpty,
    tools: optionalJson,
    grammar: optional(Grammar),
    delta_credit: optional(int32),
    prompt_token_ids: optionalWords(int32Words),
    continue_final_message: optional(boolean),
    attention: optional(string),
  }),
  CancelRequest: struct({ target: requestId }),
  ChunkPut: struct({
    type: string,
    text: textOrEmpty,
    token_ids: optionalWords(int32Words),
    ...chunkSettings,
  }),
  ChunkListRequest: struct({ type: optional(string), limit: optional(int32), after: textOrEmpty }),
  ChunkGet: struct({ id: string }),
  ChunkDelete: struct({ id: string, name: textOrEmpty, all: optional(boolean) }),
  ChunkUpdate: struct({
    id: string,
    ...chunkSettings,
    published: optional(boolean),
    touch: optional(boolean),
  }),
  StatsRequest: struct({}),
  PrefixCache: struct({
    ...prompts,
    thinking: optional(boolean),
    stream: optional(boolean),
    timeout_ms: optional(int64),
  }),
  PrefixAttach: struct({ id: string }),
  PrefixRelease: struct({ id: string }),
  ChunkSearch: struct({ query: string, limit: optional(int32) }),
  FsckRequest: struct({ repair: optional(boolean), state_dir: textOrEmpty }),
  BackupRequest: struct({ directory: string, state_dir: textOrEmpty }),
  SessionListRequest: struct({ limit: optional(int32) }),
  SessionGet: struct({ id: string }),
  SessionDelete: struct({ id: string, outputs: optional(boolean) }),
  PolicyGet: struct({}),
  PolicySet: struct({ type: string, ttl_ms: int64 }),
  TokenizeRequest: struct({ text: string, beginning: optional(boolean) }),
  DetokenizeRequest: struct({
    token_ids: optionalWords(int32Words),
    skip_special: optional(boolean),
    pieces: optional(boolean),
    piece_bytes: optional(boolean),
    text_start: optional(string),
  }),
  ApplyTemplateRequest: struct({
    messages: list(ChatMessage),
    thinking: optional(boolean),
    tools: optionalJson,
    continue_final_message: optional(boolean),
  }),
  EventsRequest: struct({
    after: optional(int64),
    boot_id: textOrEmpty,
    limit: optional(int32),
  }),
  DeltaCredit: struct({ target: requestId, deltas: int32 }),
};

const replies = {
  Pong: struct({ boot_id: string, version: string }),
  StatusReply: struct({
    version: string,
    boot_id: string,
    state: string,
    uptime_us: int64,
    model: string,
    model_type: string,
    weight_type: string,
    kv_type: string,
    isa: string,
    threads: int32,
    context_tokens_max: int32,
    weight_bytes: int64,
    kv_bytes_max: int64,
    kv_bytes_used: int64,
    kv_pages_used: int64,
    kv_bytes_per_token: int64,
    kv_disk_bytes: optional(int64),
    kv_disk_bytes_max: optional(int64),
    sequence_tokens_max: defaulting(int64, 0),
    requests_running: int32,
    requests_waiting: int32,
    requests_waiting_max: int32,
    tokens_waiting: defaulting(int64, 0),
    tokens_waiting_max: defaulting(int64, 0),
    requests_preempted: defaulting(int64, 0),
    requests_done: int64,
    requests_failed: int64,
    requests_cancelled: int64,
    tokens_reused: int64,
    tokens_prefilled: int64,
    tokens_reprefilled: int64,
    tokens_generated: int64,
    pages_evicted: int64,
    chunks_input: int32,
    chunks_output: int32,
    reprefills_pending: int32,
    prefill_tokens_per_s: number,
    decode_tokens_per_s: number,
    actors_restarted: list(string),
    warnings: listOrEmpty(string),
  }),
  Accepted: struct({ queue_position: int32, output_id: textOrEmpty }),
  Progress: struct({
    prompt_tokens: int64,
    prompt_tokens_done: int64,
    tokens_per_s: defaulting(number, 0),
    eta_us: defaulting(int64, 0),
    queue_position: defaulting(int32, 0),
  }),
  Delta: struct({ text: string, reasoning: boolean }),
  Final: struct({
    text: string,
    reasoning: string,
    finish_reason: string,
    token_ids: optionalWords(int32Words),
    logprobs: optionalWords(floatWords),
    usage: Usage,
    timings: Timings,
    seed: uint64,
    output_chunk_id: string,
    durable: defaulting(boolean, true),
    think_policy: defaulting(string, 'reprefill'),
    top_token_ids: optionalWords(int32Words),
    top_logprobs: optionalWords(floatWords),
    missing: listOrEmpty(struct({ id: string, reason: string })),
    think_spans: listOrEmpty(ThinkSpan),
    attention: textOrEmpty,
  }),
  ChunkReply: struct({
    chunk: Chunk,
    durable: defaulting(boolean, true),
    ended: listOrEmpty(Holder),
    gone: optional(boolean),
  }),
  PrefixReply: struct({
    id: string,
    tokens: int64,
    references: int64,
    reused_tokens: int64,
    prefilled_tokens: int64,
    miss: Miss,
  }),
  ChunkListReply,
  ChunkSearchReply: struct({ hits: list(ChunkSearchHit) }),
  StatsReply: struct({
    groups: list(ChunkGroup),
    chunks_max: int64,
    text_bytes_max: int64,
    pages_of_tenant: int64,
    cache: optional(CacheStats),
    disk: optional(DiskStats),
  }),
  FsckReply: struct({
    findings: list(FsckFinding),
    found: int64,
    left: int64,
    pages: int64,
    bytes: int64,
  }),
  BackupReply: struct({ pages: int64, bytes: int64, pages_bad: int64 }),
  SessionListReply: struct({ sessions: list(SessionInfo) }),
  SessionReply: struct({ session: SessionInfo, turns: list(SessionTurn), durable: boolean,
    outputs: listOrEmpty(SessionOutput) }),
  PolicyReply: struct({ policies: list(ExpiryPolicy), durable: boolean }),
  TokenizeReply: struct({ token_ids: optionalWords(int32Words) }),
  DetokenizeReply:
    struct({ text: string, pieces: listOrEmpty(string), piece_bytes: listOrEmpty(bytes) }),
  ApplyTemplateReply: struct({ prompt: string, token_ids: optionalWords(int32Words) }),
  EventNotice,
  EventsReply:
    struct({ boot_id: string, events: list(EventNotice), last: int64, gap: boolean }),
  Ack: struct({}),
  ErrorReply: struct({
    error: ErrorBody, retry_after_ms: int64, context_tokens_max: optional(int64),
    loading: optional(Loading),
  }),
};

const aboutModels = {
  ModelListRequest: struct({}),
  ModelLoad: struct({ name: string, estimate: optional(boolean) }),
  ModelUnload: struct({ name: string }),
  ModelListReply: struct({
    models: listOrEmpty(ModelInfo), models_dir: textOrEmpty,
    total_bytes: int64, total_bytes_max: int64,
  }),
  ModelReply: struct({ model: ModelInfo }),
};

// Name -> struct. The place of a message in this list is its type number.
export const messages = { ...requests, ...replies, ...aboutModels };
export const messageNames = Object.keys(messages);

// The structs inside messages, by the names of their TypeScript types.
export const parts = {
  ChunkRef, ChatMessage, LogitBias, Sampling, Grammar, Miss, Usage, Timings, ThinkSpan,
  GenerationRecord, Chunk, ChunkSearchHit, ChunkGroup, CacheStats, DiskStats, FsckFinding,
  SessionInfo, SessionTurn, SessionOutput, ExpiryPolicy, ModelInfo, Loading,
};
