// Chunks, sessions and expiry policies.

export type ChunkType = 'SYSTEM_PROMPT' | 'CONTEXT' | 'OUTPUT' | 'QUERY' | 'SUMMARY';
export type ThinkPolicy = 'reprefill' | 'keep' | 'drop' | 'splice' | 'mask';
/** What happens to a conversation that is longer than its room. */
export type OnOverflow = 'error' | 'drop_oldest' | 'retrieve' | 'summarize';

/** What stands in K and V that were computed with thoughts which are no longer there. */
export type Approximation = 'none' | 'splice' | 'mask';
export type KvState = 'none' | 'pending' | 'ready';

/**
 * Integers of 64 bits are numbers up to 2^53, and bigints beyond. Only seeds are expected to be
 * that large: counts, sizes and times have the type number here.
 */
export type Int64 = number | bigint;

/** A chunk in a composition: exactly one of id and text. */
export interface ChunkRef {
  type: ChunkType;
  id?: string;
  text?: string;
}

/** A half-open range of sampled tokens that are thoughts. */
export interface ThinkSpan {
  begin: number;
  end: number;
  closed: boolean;
}

/** What a prompt lacks of its conversation, counted from the beginning. */
export interface LeftOut {
  /** Messages of the user, each with all that follows it. */
  turns: number;
  /** Of the next turn: messages of the assistant, each with the results of its calls. */
  steps: number;
}

/** What a prompt has again of a turn that was left out. */
export interface Retrieved {
  /** Of the turn's output; '': the conversation names none for it. */
  chunkId: string;
  /** About. */
  tokens: number;
}

/** The summaries that stand in a prompt for turns that were left out. */
export interface Summarised {
  /** How many of these turns they stand in for. */
  turns: number;
  /** Of the summaries, in the order of the conversation. */
  chunkIds: string[];
}

/** How an output was generated. */
export interface GenerationRecord {
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  repetitionPenalty: number;
  seed: Int64;
  maxTokens: number;
  finishReason: string;
  presencePenalty: number;
  frequencyPenalty: number;
  logitBiasCount: number;
  /** Of the K and V that it continued. */
  approximation: Approximation;
  /** What its prompt lacked for lack of room; undefined: nothing. */
  leftOut?: LeftOut;
  /** The output whose prompt or answer has the newest of these turns; '': it is not known. */
  leftOutFrom: string;
  /** What it had again of that. */
  retrieved: Retrieved[];
  /** What stood in for that; undefined: nothing. */
  summarised?: Summarised;
}

/** A holder of a chunk: the chunk lives as long as one of its holders. */
export interface Holder {
  kind: 'retention' | 'request' | 'name' | 'session' | 'pin';
  /** The name, or the session. */
  label: string;
  /** How many retentions with equal terms. */
  count: number;
  /** 0: never. */
  expiresUs: number;
  priority: number;
  priorityUntilUs: number;
  pinned: boolean;
}

export interface Chunk {
  id: string;
  type: ChunkType;
  tenant: string;
  contentHash: string;
  text: string;
  queryText: string;
  rawText: string;
  thinkSpans: ThinkSpan[];
  thinkPolicy: ThinkPolicy;
  kvState: KvState;
  /** Of the K and V in memory. */
  kvApproximation: Approximation;
  kvTokens: number;
  kvBytes: number;
  kvDiskPages: number;
  kvDiskBytes: number;
  kvKey: string;
  kvBegin: number;
  generation: GenerationRecord;
  /** Microseconds of Unix time. */
  createdUs: number;
  lastUsedUs: number;
  hits: number;
  pinned: boolean;
  /** 0: never. */
  expiresUs: number;
  priority: number;
  priorityUntilUs: number;
  name: string;
  registrations: number;
  parentIds: string[];
  published: boolean;
  /** For an output: the data that its request gave. */
  clientData: string;
  /** Empty: the chunk is deleted. */
  holders: Holder[];
  tokenIds: Int32Array;
}

/** A chunk as it is after a change, with its remaining holders. */
export interface ChangedChunk extends Chunk {
  /** The holders that ended by the change; in a retention, `count` says how many. */
  ended: Holder[];
  /** Nothing holds the chunk any more, and it is deleted. */
  gone: boolean;
}

/** The settings of a chunk that is registered or changed. */
export interface ChunkSettings {
  name?: string;
  pinned?: boolean;
  ttlMs?: Int64;
  priority?: number;
  priorityMs?: Int64;
}

/** Exactly one of text and tokenIds. */
export interface ChunkPut extends ChunkSettings {
  type: ChunkType;
  text?: string;
  tokenIds?: Int32Array | number[];
}

export interface ChunkUpdate extends ChunkSettings {
  id: string;
  published?: boolean;
  touch?: boolean;
}

export interface ChunkListRequest {
  type?: ChunkType;
  /** 1 to 1000 (the default). */
  limit?: number;
  /** The last id of the previous page. */
  after?: string;
}

/** Newest first; texts are cut to 400 bytes and tokenIds are empty. */
export interface ChunkListReply {
  chunks: Chunk[];
  tokenCounts: number[];
  more: boolean;
}

export interface ChunkSearchHit {
  id: string;
  type: ChunkType;
  name: string;
  snippet: string;
}

export interface SessionInfo {
  id: string;
  createdUs: number;
  lastUsedUs: number;
  turns: number;
  /** Of turns that name none; undefined: 'error'. */
  onOverflow?: OnOverflow;
  /** Turns with a smaller number are left out of its prompts; undefined: none are. */
  leftOutTurns?: number;
  /** What the newest turn's prompt had again of these. */
  retrieved: Retrieved[];
  /** What stood in for them in that prompt; undefined: nothing. */
  summarised?: Summarised;
}

export interface SessionTurn {
  number: number;
  outputId: string;
}

/** What happened to a turn's output when its session was deleted. */
export interface SessionOutput {
  id: string;
  /** Nobody else held it, and it is deleted. */
  gone: boolean;
  /** Otherwise its holders, as text for people. */
  heldBy: string;
}

export interface SessionReply {
  session: SessionInfo;
  turns: SessionTurn[];
  durable: boolean;
  /** For a deleted session: the outputs of its turns that existed. */
  outputs: SessionOutput[];
}

export interface ExpiryPolicy {
  type: ChunkType;
  ttlMs: number;
}
