// The functions that a model may call, its calls, and the form that its answer must have. Requests
// contain these as JSON in OpenAI's form, so their names are not in camel case. A string is JSON
// text.

/**
 * docs/constrained_output.md says which schemas can be used. An answer's properties come in the
 * schema's order.
 */
export type JsonSchema = boolean | { [keyword: string]: unknown };

export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: JsonSchema; strict?: boolean };
}

export interface ToolCall {
  id?: string;
  type?: 'function';
  /** `arguments`: an object, or its JSON text. */
  function: { name: string; arguments: string | { [name: string]: unknown } };
}

/** Texts and JSON documents put together. */
export type GrammarPart =
  | { text: string }
  | { pattern: string }
  | { json_schema: JsonSchema }
  | { sequence: GrammarPart[] }
  | { any_of: GrammarPart[] }
  | { repeat: GrammarPart; min?: number; max?: number; separator?: string };

/**
 * 'json_object': any JSON object, without a schema. 'json_schema': a document that satisfies the
 * schema. 'parts': texts and documents put together.
 */
export type Grammar =
  | { kind: 'json_object' }
  | { kind: 'json_schema'; schema: JsonSchema | string }
  | { kind: 'parts'; schema: GrammarPart | string };
