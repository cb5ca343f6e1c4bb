// tokenizer.json, and texts for the tokenizer to encode.
#include "model/tokenizer.h"

#include "tests/fuzz/input.h"
#include "tests/fuzz/model_use.h"

namespace cascade::fuzz {
namespace {

// Words, numbers, spaces, text that looks like markup, other scripts, bytes that are not UTF-8.
constexpr std::string_view kText =
    "Hello, it's  12345 <s> <|im_end|>\r\n\n\t\xE2\x96\x81 \xC3\x89t\xC3\xA9 "
    "\xE4\xBD\xA0\xE5\xA5\xBD "
    "e\xCC\x81 \xF0\x9F\x98\x80\xF0\x9F\x8F\xBD \xEF\xBC\xA1 \xFF\xC3";

}  // namespace

bool read_tokenizer(Bytes input) {
  const auto [file, text] = split_at_nul(text_of(input), kText);
  const auto json = parse_json(file, "tokenizer.json");
  if (!is_ok(json) || !json->is_object()) return false;
  const auto tokenizer = Tokenizer::load(*json, {});
  if (!is_ok(tokenizer)) return false;
  return use_text(*tokenizer, text);
}

}  // namespace cascade::fuzz
