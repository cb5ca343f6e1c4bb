// What the daemon says about itself.
import type { ChunkType } from './chunks.js';

export interface StatusReply {
  version: string;
  bootId: string;
  /** 'serving' or 'stopping'. */
  state: string;
  uptimeUs: number;
  model: string;
  modelType: string;
  weightType: string;
  kvType: string;
  /** If it is the same, a prompt and seed give the same answer. */
  fingerprint: string;
  isa: string;
  threads: number;
  contextTokensMax: number;
  weightBytes: number;
  kvBytesMax: number;
  kvBytesUsed: number;
  kvPagesUsed: number;
  kvBytesPerToken: number;
  /** What pages on disk take; absent: nothing is kept there. */
  kvDiskBytes?: number;
  /** What they may take, at the present free space. */
  kvDiskBytesMax?: number;
  /** Absent: the model has no recurrent layers. */
  states?: StateStats;
  /** The attention mode of requests that name none. */
  attention: string;
  /** The most tokens of a prompt and its answer in this mode. */
  sequenceTokensMax: number;
  requestsRunning: number;
  requestsWaiting: number;
  requestsWaitingMax: number;
  tokensWaiting: number;
  tokensWaitingMax: number;
  requestsPreempted: number;
  requestsDone: number;
  requestsFailed: number;
  requestsCancelled: number;
  tokensReused: number;
  tokensPrefilled: number;
  tokensReprefilled: number;
  tokensGenerated: number;
  /** Computed tokens that selected pages. */
  tokensSelected: number;
  /** Tokens guessed with selected pages, then checked, and how many of them were right. */
  tokensDrafted: number;
  tokensAccepted: number;
  /** Prompt tokens found whose K and V are approximations. */
  tokensApproximate: number;
  /** Answer tokens whose K and V were moved to where they stand without thoughts. */
  tokensMoved: number;
  pagesEvicted: number;
  chunksInput: number;
  chunksOutput: number;
  reprefillsPending: number;
  prefillTokensPerS: number;
  decodeTokensPerS: number;
  actorsRestarted: string[];
  /** What is wrong now, one sentence each. */
  warnings: string[];
}

export interface ChunkGroup {
  tenant: string;
  type: ChunkType;
  chunks: number;
  pinned: number;
  hits: number;
  registrations: number;
  textBytes: number;
  kvBytes: number;
  kvDiskBytes: number;
}

export interface CacheStats {
  policy: string;
  pageBytes: number;
  pagesMax: number;
  pagesUsed: number;
  pagesPinned: number;
  pagesPinPromised: number;
  pagesPinnedMax: number;
  pagesHeld: number;
  pagesHeldMax: number;
  pageHits: number;
  pageMisses: number;
  evicted: number;
  removedDead: number;
  removedDeleted: number;
  removedExpired: number;
  evictedEarly: number;
  workingSetBytes: number;
  thrashing: boolean;
  thrashAlarms: number;
  refaultShare: number;
  recomputeBonusS: number;
  chunkBytes: number;
  chunkDiskBytes: number;
  savedTokens: number;
  /** An estimate. */
  savedUs: number;
  savedBytes: number;
}

export interface DiskStats {
  pages: number;
  pageBytes: number;
  pagesWritten: number;
  pagesLoaded: number;
  pagesBad: number;
  pagesRemoved: number;
  loadBytesPerS: number;
}

/** States of recurrent layers, in memory and on disk. */
export interface StateStats {
  stateBytes: number;
  statesMax: number;
  /** Kept ones, and those of running requests. */
  statesUsed: number;
  /** Prompts can go on from them. */
  statesKept: number;
  statesDropped: number;
  onDisk: number;
  written: number;
  loaded: number;
}

export interface StatsReply {
  groups: ChunkGroup[];
  chunksMax: number;
  textBytesMax: number;
  pagesOfTenant: number;
  /** Only for the tenant 'local'. */
  cache?: CacheStats;
  /** Only for the tenant 'local', and only if the daemon keeps K and V on disk. */
  disk?: DiskStats;
  /** Only for the tenant 'local', and only if the model has recurrent layers. */
  states?: StateStats;
}

/** A model of the daemon. Sizes are estimates in bytes, or 0 if they are unknown. */
export interface ModelInfo {
  name: string;
  state: 'loaded' | 'loading' | 'unloading' | 'unloaded';
  /** Always loaded; used by requests that name no other model. */
  default: boolean;
  /** Only for the tenant 'local'; '' for others. */
  path: string;
  format: 'folder' | 'gguf';
  /** As the daemon loads it. */
  weightType: string;
  diskBytes: number;
  weightsBytes: number;
  /** The memory that its K and V may take. */
  kvBytes: number;
  otherBytes: number;
  totalBytes: number;
  /** The requests that wait or run. */
  requests: number;
  /** Unix time; 0: not used since the daemon's start. */
  lastUsedUs: number;
  /** Why it could not be read or loaded; '': there is no problem. */
  problem: string;
}

export interface ModelListReply {
  /** The default model first. */
  models: ModelInfo[];
  /** Only for the tenant 'local'; '': there is none. */
  modelsDir: string;
  /** The bytes of all models that are loaded or being loaded. */
  totalBytes: number;
  /** 0: no limit. */
  totalBytesMax: number;
}

export interface FsckFinding {
  where: string;
  what: string;
  repaired: boolean;
}

export interface FsckReply {
  findings: FsckFinding[];
  found: number;
  left: number;
  pages: number;
  bytes: number;
}

export interface BackupReply {
  pages: number;
  bytes: number;
  pagesBad: number;
}
