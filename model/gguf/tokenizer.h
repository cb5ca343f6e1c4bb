// tokenizer.ggml.* of a GGUF file: the tokenizer, and the texts that its chat template needs.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/gguf/metadata.h"
#include "model/tokenizer.h"

namespace cascade {

// tokenizer.ggml.model "gpt2" (byte-level BPE, cut by the table of model/gguf/pre_tokenizers.h) and
// "llama" (SentencePiece's BPE, whose merges follow from the scores). A token of type control,
// user-defined or unknown is an added token; unused ones are left out. Errors, field = key:
// kUnsupported for another model or pre-tokenizer, by name; kNotFound for missing keys;
// kInvalidArgument for lists of different length, over 2^21 tokens, a token of over 512 bytes, not
// UTF-8 or listed twice, an unknown type, ids that no token has, and whatever Tokenizer::load
// refuses.
Result<Tokenizer> gguf_tokenizer(const GgufMetadata& metadata);

// bos_token, eos_token, ... as the template sees them. Errors: kInvalidArgument, field = key, for
// an id that no token has.
Result<OrderedJson> gguf_template_tokens(const GgufMetadata& metadata);

}  // namespace cascade
