// What the daemon says of itself.
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
  isa: string;
  threads: number;
  contextTokensMax: number;
  weightBytes: number;
  kvBytesMax: number;
  kvBytesUsed: number;
  kvPagesUsed: number;
  kvBytesPerToken: number;
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
  pagesEvicted: number;
  chunksInput: number;
  chunksOutput: number;
  reprefillsPending: number;
  prefillTokensPerS: number;
  decodeTokensPerS: number;
  actorsRestarted: string[];
  /** What is wrong now, each a sentence. */
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

export interface StatsReply {
  groups: ChunkGroup[];
  chunksMax: number;
  textBytesMax: number;
  pagesOfTenant: number;
  /** Of the tenant 'local' only. */
  cache?: CacheStats;
  /** Of the tenant 'local' of a daemon that keeps K and V on disk only. */
  disk?: DiskStats;
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
