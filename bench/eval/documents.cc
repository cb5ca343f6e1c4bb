// Documents are encoded one by one, so no token reaches from one into the next.
#include "bench/eval/documents.h"

#include <algorithm>
#include <string_view>

#include "base/text_file.h"
#include "base/utf8.h"

namespace cascade::eval {
namespace {

constexpr size_t kTextBytesMax = size_t{64} << 20;

// The token that separates documents: <|endoftext|> if there is one, else the first end token.
Result<int32_t> separator(const Model& model) {
  if (const auto id = model.tokenizer.token_id("<|endoftext|>")) return *id;
  if (!model.generation.end_tokens.empty()) return model.generation.end_tokens.front();
  return invalid_argument("eos_token_id", "the model has no token to separate documents");
}

}  // namespace

Result<std::vector<int32_t>> read_documents(const std::string& path, const Model& model) {
  ASSIGN_OR_RETURN(const std::string text, read_text_file(path, kTextBytesMax));
  if (const size_t valid = utf8_valid_prefix(text); valid < text.size()) {
    return invalid_argument(path, "is not UTF-8: byte " + std::to_string(valid) + " is malformed");
  }
  ASSIGN_OR_RETURN(const int32_t end_of_text, separator(model));
  constexpr std::string_view kBetween("\n\0\n", 3);
  std::vector<int32_t> ids;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(kBetween, begin), text.size());
    ASSIGN_OR_RETURN(const auto document,
                     model.tokenizer.encode(std::string_view(text).substr(begin, end - begin),
                                            /*trusted=*/false, /*with_template=*/false));
    ids.insert(ids.end(), document.begin(), document.end());
    ids.push_back(end_of_text);
    begin = end + kBetween.size();
  }
  return ids;
}

}  // namespace cascade::eval
