// How text is cut into words, by the names that GGUF files use for it.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// What a name in tokenizer.ggml.pre stands for: regular expressions, and other properties of a
// family's tokenizers.
struct GgufPreTokenizer {
  Json pre_tokenizer;             // as in tokenizer.json
  Json normalizer;                // null: none
  bool ignores_merges = false;    // a word that is a token is not merged from its parts
  bool adds_begin_token = false;  // used if the file does not say it
};

// Errors: kUnsupported, field "tokenizer.ggml.pre", for a name that is not in the table: a
// different cut gives different tokens, and nobody would see why the answers are bad.
Result<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name);

// All names in the table.
std::vector<std::string_view> gguf_pre_tokenizer_names();

}  // namespace cascade
