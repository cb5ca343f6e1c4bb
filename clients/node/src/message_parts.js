// The structs inside messages, field by field, in the order of docs/protocol.md.
import {
  boolean,
  defaulting,
  int32,
  int32Words,
  int64,
  list,
  listOrEmpty,
  number,
  optional,
  optionalJson,
  optionalWords,
  string,
  struct,
  textOrEmpty,
  uint64,
} from './fields.js';

export const ChunkRef = struct({ type: string, id: textOrEmpty, text: textOrEmpty });

export const ChatMessage = struct({
  role: string,
  content: string,
  reasoning: textOrEmpty,
  verbatim: defaulting(boolean, false),
  tool_calls: optionalJson,
  tool_call_id: textOrEmpty,
  name: textOrEmpty,
});

export const LogitBias = struct({ token: int32, bias: number });

export const Sampling = struct({
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

export const Grammar = struct({ kind: string, schema: optionalJson });

export const Miss = struct({ reason: string, position: int64, known_token: int32 });

export const Usage = struct({
  prompt_tokens: int64,
  reused_tokens: int64,
  loaded_tokens: defaulting(int64, 0),
  prefilled_tokens: int64,
  miss: optional(Miss, () => ({ reason: 'none', position: 0, knownToken: -1 })),
  completion_tokens: int64,
  reasoning_tokens: int64,
  selected_tokens: defaulting(int64, 0),
  drafted_tokens: defaulting(int64, 0),
  accepted_tokens: defaulting(int64, 0),
  approximate_tokens: defaulting(int64, 0),
});

export const Timings = struct({
  queue_us: int64,
  prefill_us: int64,
  first_token_us: int64,
  decode_us: int64,
  total_us: int64,
});

export const ThinkSpan = struct({ begin: int32, end: int32, closed: boolean });

export const LeftOut = struct({ turns: int64, steps: int64 });

export const Retrieved = struct({ chunk_id: string, tokens: int64 });

export const Summarised = struct({ turns: int64, chunk_ids: list(string) });

export const GenerationRecord = struct({
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
  approximation: defaulting(string, 'none'),
  left_out: optional(LeftOut),
  left_out_from: textOrEmpty,
  retrieved: listOrEmpty(Retrieved),
  summarised: optional(Summarised),
});

export const Holder = struct({
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
  kv_approximation: defaulting(string, 'none'),
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

export const Chunk = struct({ ...chunkFields, token_ids: optionalWords(int32Words) });

export const ListedChunk = struct({ ...chunkFields, token_count: int64 });

export const ChunkSearchHit =
  struct({ id: string, type: string, name: textOrEmpty, snippet: string });

export const ChunkGroup = struct({
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

export const CacheStats = struct({
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

export const Loading = struct({ done_bytes: int64, total_bytes: int64 });
export const DiskStats = struct({
  pages: int64,
  page_bytes: int64,
  pages_written: int64,
  pages_loaded: int64,
  pages_bad: int64,
  pages_removed: int64,
  load_bytes_per_s: int64,
});

export const StateStats = struct({
  state_bytes: int64,
  states_max: int64,
  states_used: int64,
  states_kept: int64,
  states_dropped: int64,
  on_disk: int64,
  written: int64,
  loaded: int64,
});

export const ModelInfo = struct({
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
export const FsckFinding = struct({ where: string, what: string, repaired: boolean });

export const SessionInfo = struct({
  id: string,
  created_us: int64,
  last_used_us: int64,
  turns: int64,
  on_overflow: optional(string),
  left_out_turns: optional(int64),
  retrieved: listOrEmpty(Retrieved),
  summarised: optional(Summarised),
});
export const SessionTurn = struct({ number: int64, output_id: string });
export const SessionOutput = struct({ id: string, gone: boolean, held_by: textOrEmpty });
export const ExpiryPolicy = struct({ type: string, ttl_ms: int64 });

export const EventNotice = struct({
  sequence: int64,
  boot_id: string,
  time_us: int64,
  kind: string,
  id: string,
  type: optional(string),
  tokens: defaulting(int64, 0),
  reason: textOrEmpty,
  approximation: defaulting(string, 'none'),
});

export const ErrorBody = struct({ code: string, field: string, message: string });

// By the names of their TypeScript types.
export const parts = {
  ChunkRef, ChatMessage, LogitBias, Sampling, Grammar, Miss, Usage, Timings, ThinkSpan,
  LeftOut, Retrieved, Summarised, GenerationRecord, Chunk, ChunkSearchHit, ChunkGroup, CacheStats,
  DiskStats, StateStats, FsckFinding, SessionInfo, SessionTurn, SessionOutput, ExpiryPolicy,
  ModelInfo, Loading,
};
