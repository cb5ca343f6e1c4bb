// Texts and conversations as tokens.
import type { Tool } from './tools.js';

export interface TokenizeOptions {
  /** The ids begin as a raw prompt does, with BOS. */
  beginning?: boolean;
}

export interface DetokenizeOptions {
  /** Leaves out special tokens. */
  skipSpecial?: boolean;
  /** Also returns what each token adds to the text. */
  pieces?: boolean;
  /** The same in bytes. */
  pieceBytes?: boolean;
  /**
   * Which tokens begin a text ('first' if not given): a tokenizer with SentencePiece's rules drops
   * a space there. With 'none', the tokens continue a text; with 'each', each token is a text of
   * its own.
   */
  textStart?: 'first' | 'none' | 'each';
}

export interface DetokenizeReply {
  text: string;
  /** Empty if not asked for. U+FFFD takes the place of a part of a character. */
  pieces: string[];
  /** Empty if not asked for. */
  pieceBytes: Uint8Array[];
}

export interface TemplateOptions {
  thinking?: boolean;
  reasoningEffort?: string;
  tools?: Tool[] | string;
}

export interface ApplyTemplateReply {
  prompt: string;
  tokenIds: Int32Array;
}
