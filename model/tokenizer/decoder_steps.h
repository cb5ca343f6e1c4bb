// The steps of the decoder of tokenizer.json.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// A decoder turns a list of token texts, step by step, into other lists, and joins the last one.

// Joins all tokens into one. Tokens spelled in the byte-level alphabet become the bytes they stand
// for; the others stay as they are. Malformed UTF-8 becomes U+FFFD.
struct ByteLevelDecode {};
// Turns a run of tokens like "<0x0A>" into one token of these bytes or, if the bytes are not UTF-8,
// into one token of U+FFFD for each byte.
struct ByteFallbackDecode {};
// Joins all tokens into one.
struct FuseDecode {};
// Replaces `pattern` by `content` in each token.
struct ReplaceDecode {
  std::string pattern;  // a literal, not empty
  std::string content;
};
// Removes a character from the ends of each token: up to `start` times at its beginning, and up to
// `stop` times at its end.
struct StripDecode {
  std::string content;  // one code point
  size_t start = 0;
  size_t stop = 0;
};
// Turns `replacement` into a space or, in the first token if `drops_first`, drops it.
struct MetaspaceDecode {
  std::string replacement;  // one code point
  bool drops_first = true;
};
// Puts a space between tokens. This is the only step if there is no decoder.
struct SpaceDecode {};

using DecodeStep = std::variant<ByteLevelDecode, ByteFallbackDecode, FuseDecode, ReplaceDecode,
                                StripDecode, MetaspaceDecode, SpaceDecode>;

// `json` is the member "decoder", or null for none. Errors, with the path of the field:
// kUnsupported for an unknown type or field, or a regular expression; kInvalidArgument for a
// malformed field, more than 32 steps, and Replace steps that together can make a text more than
// eight times as long.
Result<std::vector<DecodeStep>> load_decode_steps(const Json* json, const std::string& path);

}  // namespace cascade
