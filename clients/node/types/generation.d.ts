// Generations and prefixes: what is asked, what comes, how it ends.
import type { ChunkRef, Int64, ThinkPolicy, ThinkSpan } from './chunks.js';
import type { Grammar, Tool, ToolCall } from './tools.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  /** Of the assistant only: thoughts without think tokens. */
  reasoning?: string;
  /** Of the assistant only: content stands in the prompt as it is. */
  verbatim?: boolean;
  /** Of the assistant only. */
  toolCalls?: ToolCall[] | string;
  /** Of a tool only: the call that this is the result of. */
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

/** Everything of a request but its prompt. */
export interface GenerateParams {
  maxTokens?: number;
  sampling?: Sampling;
  stop?: string[];
  ignoreEos?: boolean;
  thinking?: boolean;
  retainOutput?: boolean;
  thinkPolicy?: ThinkPolicy;
  /** Set by the client: it does not matter here. */
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
  /** The output that ended the conversation which stands before; not with a session. */
  previousOutput?: string;
  /** Outputs whose turns `messages` has; only with retainOutput. */
  parents?: string[];
  /** If a chunk that it names, or a turn before it, is gone; 'error' if absent. */
  onMissing?: 'error' | 'skip';
  /** Kept with the retained output; at most 256 KiB. */
  clientData?: string;
  /** What the model may call; only with messages. */
  tools?: Tool[] | string;
  /** The form that the answer must have; one that ends with 'stop' has it. */
  grammar?: Grammar;
  /** In place of the other prompts: token ids as they are, special ones too. */
  promptTokenIds?: Int32Array | number[];
  /** The answer goes on with the last message, the assistant's. */
  continueFinalMessage?: boolean;
  /** So many deltas may come, the rest of the text with the end; undefined: as they are read. */
  deltaCredit?: number;
}

export interface GenerateRequest extends Prompt, GenerateParams {}

export interface PrefixCache extends Prompt {
  thinking?: boolean;
  /** Set by the client: it does not matter here. */
  stream?: boolean;
  timeoutMs?: Int64;
}

export interface Accepted {
  queuePosition: number;
  /** That the retained output will have, unless an equal one is there; else empty. */
  outputId: string;
}

export interface Progress {
  /** 0 while it is not known. */
  promptTokens: number;
  promptTokensDone: number;
  tokensPerS: number;
  /** To the first token; 0: not known. */
  etaUs: number;
  queuePosition: number;
}

export interface Delta {
  text: string;
  /** The text is a thought. */
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
  /** Empty if not asked for, as are topTokenIds and topLogprobs. */
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
  /** What it was answered without. */
  missing: { id: string; reason: string }[];
  /** Where tokenIds are thoughts. */
  thinkSpans: ThinkSpan[];
}

/** What a running generation tells. */
export type GenerationEvent =
  | ({ type: 'accepted' } & Accepted)
  | ({ type: 'progress' } & Progress)
  | ({ type: 'delta' } & Delta);

/** The same of a stream, whose last event is the end. */
export type StreamEvent = GenerationEvent | ({ type: 'final' } & Generation);

export interface PrefixReply {
  id: string;
  tokens: number;
  references: number;
  reusedTokens: number;
  prefilledTokens: number;
  miss: Miss;
}
