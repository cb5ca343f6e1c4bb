// The steps of the decoder of tokenizer.json.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// A decoder turns the texts of tokens, step by step, into other such lists, and joins the last.

// All tokens become one: those spelled in the byte-level alphabet as the bytes they stand for, the
// others as they are. Malformed UTF-8 becomes U+FFFD.
struct ByteLevelDecode {};
// Runs of tokens like "<0x0A>" become one token of these bytes, or, where they are not UTF-8, as
// many of U+FFFD.
struct ByteFallbackDecode {};
// All tokens become one.
struct FuseDecode {};
// In each token.
struct ReplaceDecode {
  std::string pattern;  // a literal, not empty
  std::string content;
};
// Takes up to `start` and `stop` of a character off the ends of each token.
struct StripDecode {
  std::string content;  // one code point
  size_t start = 0;
  size_t stop = 0;
};
// The replacement becomes a space; in the first token nothing, if `drops_first`.
struct MetaspaceDecode {
  std::string replacement;  // one code point
  bool drops_first = true;
};
// Puts a space between tokens: what happens where there is no decoder.
struct SpaceDecode {};

using DecodeStep = std::variant<ByteLevelDecode, ByteFallbackDecode, FuseDecode, ReplaceDecode,
                                StripDecode, MetaspaceDecode, SpaceDecode>;

// `json` is the member "decoder", or null for none. Errors, with the path of the field:
// kUnsupported for an unknown type or field, or a regular expression; kInvalidArgument for a
// malformed field, more than 32 steps, and Replace steps that together can make a text more than
// eight times as long.
Result<std::vector<DecodeStep>> load_decode_steps(const Json* json, const std::string& path);

}  // namespace cascade
