// The post-processor of tokenizer.json: the tokens that go before and after a single sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

struct TokenizerTemplate {
  std::vector<int32_t> before;  // BOS, mostly
  std::vector<int32_t> after;

  // `json` is the member "post_processor", or null for none. Takes TemplateProcessing, ByteLevel
  // (which is about offsets only) and Sequences of them. Errors, with the path of the field:
  // kUnsupported for another type, an unknown field, a template that does not hold the sequence
  // exactly once; kInvalidArgument for a malformed field, a token that is not in "special_tokens",
  // an id that `is_known` denies, more than 64 tokens in all.
  static Result<TokenizerTemplate> load(const Json* json, const std::string& path,
                                        const std::function<bool(int32_t)>& is_known);
};

}  // namespace cascade
