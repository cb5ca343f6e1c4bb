// The two-way map between token texts and ids.
#include "model/tokenizer/bpe_vocabulary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "base/random.h"
#include "base/utf8.h"
#include "model/tokenizer/json.h"

namespace cascade {

std::optional<int32_t> token_id_from(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() >= uint64_t{kTokenIdEnd}) {
    return std::nullopt;
  }
  const auto id = value.get<int64_t>();
  if (id < 0 || id >= kTokenIdEnd) return std::nullopt;
  return static_cast<int32_t>(id);
}

size_t BpeVocabulary::Hash::operator()(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

BpeVocabulary::BpeVocabulary() : ids_(0, Hash{system_random()}) {}

Status BpeVocabulary::add(std::string_view text, int32_t id, const std::string& field) {
  CHECK(id >= 0 && id < kTokenIdEnd);
  if (!is_utf8(text)) return invalid_argument(field, "a token is not UTF-8");
  const std::string name = quote_text(text);
  if (text.size() > kBpeTokenBytesMax) {
    return invalid_argument(field, "token " + name + " has " + std::to_string(text.size()) +
                                       " bytes; the limit is " + std::to_string(kBpeTokenBytesMax));
  }
  if (const std::string* other = this->text(id)) {
    return invalid_argument(field, "id " + std::to_string(id) + " of " + name +
                                       " already belongs to " + quote_text(*other));
  }
  const auto [entry, is_new] = ids_.emplace(text, id);
  if (!is_new) {
    return invalid_argument(field, "token " + name + " has the ids " +
                                       std::to_string(entry->second) + " and " +
                                       std::to_string(id));
  }
  if (id >= id_end()) by_id_.resize(static_cast<size_t>(id) + 1, nullptr);
  by_id_[static_cast<size_t>(id)] = &entry->first;
  return {};
}

std::optional<int32_t> BpeVocabulary::find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cascade
