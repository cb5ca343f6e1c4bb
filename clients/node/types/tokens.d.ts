// Texts and conversations as tokens.
import type { Tool } from './tools.js';

export interface TokenizeOptions {
  /** As a raw prompt begins, with BOS. */
  beginning?: boolean;
}

export interface DetokenizeOptions {
  /** Leaves out special tokens. */
  skipSpecial?: boolean;
  /** The text of each token alone as well. */
  pieces?: boolean;
}

export interface DetokenizeReply {
  text: string;
  /** Empty if not asked for. U+FFFD stands for a part of a character. */
  pieces: string[];
}

export interface TemplateOptions {
  thinking?: boolean;
  tools?: Tool[] | string;
}

export interface ApplyTemplateReply {
  prompt: string;
  tokenIds: Int32Array;
}
