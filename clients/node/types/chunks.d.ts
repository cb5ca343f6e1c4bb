// Chunks, sessions and expiry policies.

export type ChunkType = 'SYSTEM_PROMPT' | 'CONTEXT' | 'OUTPUT' | 'QUERY';
export type ThinkPolicy = 'reprefill' | 'keep' | 'drop';
export type KvState = 'none' | 'pending' | 'ready';

/**
 * Integers of 64 bits are numbers up to 2^53 and bigints beyond. Only of seeds it is to be
 * expected: counts, sizes and times have the type number here.
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

/** How an output came to be. */
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
}

/** Who keeps a chunk: it lives as long as one of its holders. */
export interface Holder {
  kind: 'retention' | 'request' | 'name' | 'session' | 'pin';
  /** The name, or the session. */
  label: string;
  /** Of retentions with equal terms. */
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
  /** Of an output: what its request gave. */
  clientData: string;
  /** None: it is gone. */
  holders: Holder[];
  tokenIds: Int32Array;
}

/** A chunk as it is after a change, with the holders that stay. */
export interface ChangedChunk extends Chunk {
  /** The holders that ended by the change; `count` of a retention: how many. */
  ended: Holder[];
  /** Nothing holds it any more, and it is deleted. */
  gone: boolean;
}

/** What a chunk may be given when it is registered or changed. */
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
}

export interface SessionTurn {
  number: number;
  outputId: string;
}

/** What became of a turn's output when its session was deleted. */
export interface SessionOutput {
  id: string;
  /** Nobody else held it, and it is deleted. */
  gone: boolean;
  /** Else who holds it now, for people. */
  heldBy: string;
}

export interface SessionReply {
  session: SessionInfo;
  turns: SessionTurn[];
  durable: boolean;
  /** Of a deleted session: those of its turns that were there. */
  outputs: SessionOutput[];
}

export interface ExpiryPolicy {
  type: ChunkType;
  ttlMs: number;
}
