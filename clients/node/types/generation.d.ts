// Generations and prefixes: requests, events, results.
import type {
  Approximation,
  ChunkRef,
  Int64,
  LeftOut,
  OnOverflow,
  Retrieved,
  Summarised,
  ThinkPolicy,
  ThinkSpan,
} from './chunks.js';
import type { Grammar, Tool, ToolCall } from './tools.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  /** For the assistant only: thoughts without think tokens. */
  reasoning?: string;
  /** For the assistant only: the prompt has `content` as it is. */
  verbatim?: boolean;
  /** For the assistant only. */
  toolCalls?: ToolCall[] | string;
  /** For a tool only: the call whose result this is. */
  toolCallId?: string;
  name?: string;
}

export interface LogitBias {
  token: number;
  bias: number;
}

export interface Sampling {
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  repetitionPenalty?: number;
  seed?: Int64;
  presencePenalty?: number;
  frequencyPenalty?: number;
  logitBias?: LogitBias[];
}

/** Exactly one of the three. */
export interface Prompt {
  chunks?: ChunkRef[];
  messages?: ChatMessage[];
  prompt?: string;
}

/** Everything of a request except its prompt. */
export interface GenerateParams {
  maxTokens?: number;
  sampling?: Sampling;
  stop?: string[];
  ignoreEos?: boolean;
  thinking?: boolean;
  /** The template's reasoning_effort, e.g. 'low'; undefined: its default. */
  reasoningEffort?: string;
  retainOutput?: boolean;
  thinkPolicy?: ThinkPolicy;
  /** With 'splice' and 'mask': exact K and V follow in idle time; undefined: as the daemon does. */
  heal?: boolean;
  /** For a conversation that is too long; undefined: as its session does, else 'error'. */
  onOverflow?: OnOverflow;
  /**
   * 'dense', 'window:W:S', 'select:B:D' or 'verify:B:D' (docs/LONG_CONTEXT.md); undefined: the
   * daemon's.
   */
  attention?: string;
  /** Ignored: the client sets it. */
  stream?: boolean;
  logprobs?: boolean;
  timeoutMs?: Int64;
  reuse?: boolean;
  topLogprobs?: number;
  outputName?: string;
  outputPinned?: boolean;
  outputTtlMs?: Int64;
  outputPriority?: number;
  outputPriorityMs?: Int64;
  promptPriority?: number;
  promptPriorityMs?: Int64;
  session?: string;
  /** The output that ended the conversation before this request; not with a session. */
  previousOutput?: string;
  /** The outputs whose turns `messages` has; only with retainOutput. */
  parents?: string[];
  /** For chunks that it names, or turns before it, that no longer exist; 'error' if absent. */
  onMissing?: 'error' | 'skip';
  /** Kept with the retained output; at most 256 KiB. */
  clientData?: string;
  /** The functions that the model may call; only with messages. */
  tools?: Tool[] | string;
  /** The form that the answer must have; an answer that ends with 'stop' has it. */
  grammar?: Grammar;
  /** In place of the other prompts: token ids, used as they are, special ones too. */
  promptTokenIds?: Int32Array | number[];
  /** The answer continues the last message, which is the assistant's. */
  continueFinalMessage?: boolean;
  /**
   * The most deltas that may come; the rest of the text comes at the end. Undefined: as they are
   * read.
   */
  deltaCredit?: number;
}

export interface GenerateRequest extends Prompt, GenerateParams {}

export interface PrefixCache extends Prompt {
  thinking?: boolean;
  reasoningEffort?: string;
  /** Ignored: the client sets it. */
  stream?: boolean;
  timeoutMs?: Int64;
}

export interface Accepted {
  queuePosition: number;
  /** The id that the retained output will have, unless an equal one exists; else empty. */
  outputId: string;
  /** As in StatusReply, of the model that answers. */
  fingerprint: string;
}

export interface Progress {
  /** 0 while it is not known. */
  promptTokens: number;
  promptTokensDone: number;
  tokensPerS: number;
  /** The time to the first token; 0: not known. */
  etaUs: number;
  queuePosition: number;
}

export interface Delta {
  text: string;
  /** Whether the text is a thought. */
  reasoning: boolean;
}

export interface Miss {
  /** 'none', 'new', 'differs', 'evicted', … */
  reason: string;
  position: number;
  knownToken: number;
}

export interface Usage {
  promptTokens: number;
  reusedTokens: number;
  loadedTokens: number;
  prefilledTokens: number;
  miss: Miss;
  completionTokens: number;
  reasoningTokens: number;
  /** Computed tokens that selected pages. */
  selectedTokens: number;
  /** Tokens guessed with selected pages, then checked ('verify'); how many of them were right. */
  draftedTokens: number;
  acceptedTokens: number;
  /** Reused tokens whose K and V are approximations. */
  approximateTokens: number;
}

export interface Timings {
  queueUs: number;
  prefillUs: number;
  firstTokenUs: number;
  decodeUs: number;
  totalUs: number;
}

/** How a generation ended. */
export interface Generation {
  text: string;
  reasoning: string;
  /** 'stop', 'length' or 'cancelled'. */
  finishReason: string;
  tokenIds: Int32Array;
  /** Empty if not asked for; so are topTokenIds and topLogprobs. */
  logprobs: Float32Array;
  usage: Usage;
  timings: Timings;
  seed: Int64;
  /** Empty: nothing was retained. */
  outputChunkId: string;
  durable: boolean;
  thinkPolicy: ThinkPolicy;
  topTokenIds: Int32Array;
  topLogprobs: Float32Array;
  /** The chunks and turns that were missing when it was answered. */
  missing: { id: string; reason: string }[];
  /** Where tokenIds are thoughts. */
  thinkSpans: ThinkSpan[];
  /** The mode that was used: 'dense', 'window:W:S', 'select:B:D' or 'verify:B:D'. */
  attention: string;
  /** Of the K and V that it continued. */
  approximation: Approximation;
  /** What its prompt lacked for lack of room; undefined: nothing. */
  leftOut?: LeftOut;
  /** The turns of which parts were brought back. */
  retrieved: Retrieved[];
  /** These parts: the message of the newest question begins with this text. */
  retrievedText: string;
  /** The summaries that stand in for what was left out; undefined: none do. */
  summarised?: Summarised;
}

/** An event of a running generation. */
export type GenerationEvent =
  | ({ type: 'accepted' } & Accepted)
  | ({ type: 'progress' } & Progress)
  | ({ type: 'delta' } & Delta);

/** An event of a stream; the last one is the end of the generation. */
export type StreamEvent = GenerationEvent | ({ type: 'final' } & Generation);

export interface PrefixReply {
  id: string;
  tokens: number;
  references: number;
  reusedTokens: number;
  prefilledTokens: number;
  miss: Miss;
}
