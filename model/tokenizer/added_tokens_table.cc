// The added tokens of a model.
#include "model/tokenizer/added_tokens_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cascade {
namespace {

constexpr size_t kContentBytesMax = 512;  // the longest in use has some 60 bytes

// If two tokens normalise to the same text, the first in this order is matched.
std::vector<size_t> special_first(const std::vector<AddedToken>& tokens) {
  std::vector<size_t> order;
  for (const bool is_special : {true, false}) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].is_special == is_special) order.push_back(i);
    }
  }
  return order;
}

Result<AddedToken> load_token(const JsonPart& part, int32_t id) {
  AddedToken token;
  token.id = id;
  ASSIGN_OR_RETURN(token.content, part.text("content"));
  if (token.content.empty() || token.content.size() > kContentBytesMax) {
    return invalid_argument(part.path_of("content"),
                            "must have 1 to " + std::to_string(kContentBytesMax) + " bytes");
  }
  ASSIGN_OR_RETURN(token.is_special, part.flag_or("special", false));
  ASSIGN_OR_RETURN(token.is_single_word, part.flag_or("single_word", false));
  ASSIGN_OR_RETURN(token.strips_left, part.flag_or("lstrip", false));
  ASSIGN_OR_RETURN(token.strips_right, part.flag_or("rstrip", false));
  ASSIGN_OR_RETURN(token.is_normalized, part.flag_or("normalized", !token.is_special));
  return token;
}

std::optional<int32_t> parse_id(std::string_view text) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || id < 0 || id >= kTokenIdEnd) return std::nullopt;
  return id;
}

}  // namespace

bool is_plain_token(const AddedToken& token) {
  constexpr std::array<std::string_view, 6> kMarkup = {"<", ">", "[", "]", "|", "\uFF5C"};
  return !token.is_special &&
         std::none_of(kMarkup.begin(), kMarkup.end(), [&](std::string_view mark) {
           return token.content.find(mark) != std::string::npos;
         });
}

Result<AddedTokens> AddedTokens::load(const JsonPart& root, const Json& config,
                                      const BpeVocabulary& vocabulary,
                                      const Normalizer& normalizer) {
  AddedTokens loaded;
  if (root.find("added_tokens") != nullptr) {
    RETURN_IF_ERROR(loaded.load_list(root, vocabulary));
  }
  if (!config.is_null()) {
    ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(config, "tokenizer_config"));
    RETURN_IF_ERROR(loaded.load_config(part, vocabulary));
  }
  RETURN_IF_ERROR(loaded.build_matchers(normalizer));
  return loaded;
}

Status AddedTokens::load_list(const JsonPart& root, const BpeVocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const Json* list, root.array("added_tokens"));
  for (size_t i = 0; i < list->size(); ++i) {
    ASSIGN_OR_RETURN(const JsonPart part,
                     JsonPart::of((*list)[i], json_path(root.path_of("added_tokens"), i)));
    RETURN_IF_ERROR(
        part.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    ASSIGN_OR_RETURN(const int64_t id, part.whole("id", 0, kTokenIdEnd - 1));
    for (const char* key : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      if (part.find(key) == nullptr) return invalid_argument(part.path_of(key), "is missing");
    }
    ASSIGN_OR_RETURN(AddedToken token, load_token(part, static_cast<int32_t>(id)));
    RETURN_IF_ERROR(add(std::move(token), vocabulary, part.path()));
  }
  return {};
}

Status AddedTokens::load_config(const JsonPart& config, const BpeVocabulary& vocabulary) {
  if (config.find("added_tokens_decoder") == nullptr) return {};
  ASSIGN_OR_RETURN(const JsonPart entries, config.child("added_tokens_decoder"));
  for (const auto& [key, value] : config.find("added_tokens_decoder")->items()) {
    const std::optional<int32_t> id = parse_id(key);
    if (!id) return invalid_argument(entries.path(), quote_text(key) + " is not a token id");
    ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(value, entries.path_of(key)));
    RETURN_IF_ERROR(part.only(
        {"__type", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    ASSIGN_OR_RETURN(AddedToken token, load_token(part, *id));
    const AddedToken* known = find(*id);
    if (known == nullptr || known->content != token.content) {
      RETURN_IF_ERROR(add(std::move(token), vocabulary, part.path()));
      continue;
    }
    token.is_special = token.is_special || known->is_special;
    tokens_[static_cast<size_t>(index_by_id_[static_cast<size_t>(*id)])] = std::move(token);
  }
  return {};
}

Status AddedTokens::add(AddedToken token, const BpeVocabulary& vocabulary,
                        const std::string& field) {
  const std::string* same_id = vocabulary.text(token.id);
  if (same_id != nullptr && *same_id != token.content) {
    return invalid_argument(field, "id " + std::to_string(token.id) + " of " +
                                       quote_text(token.content) + " already belongs to " +
                                       quote_text(*same_id));
  }
  const auto same_text = vocabulary.find(token.content);
  if (same_text && *same_text != token.id) {
    return invalid_argument(field, quote_text(token.content) + " has the ids " +
                                       std::to_string(*same_text) + " and " +
                                       std::to_string(token.id));
  }
  RETURN_IF_ERROR(contents_.add(token.content, token.id, field));
  const auto id = static_cast<size_t>(token.id);
  if (id >= index_by_id_.size()) index_by_id_.resize(id + 1, -1);
  index_by_id_[id] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(std::move(token));
  return {};
}

Status AddedTokens::build_matchers(const Normalizer& normalizer) {
  std::vector<AddedTokensMatcher::Literal> raw;
  std::vector<AddedTokensMatcher::Literal> normalized;
  std::vector<std::string> texts(tokens_.size());
  size_t bytes = 0;
  for (const AddedToken& token : tokens_) bytes += token.content.size();
  TextBudget budget(bytes);
  RegexScratch scratch(budget);
  for (const size_t i : special_first(tokens_)) {
    const AddedToken& token = tokens_[i];
    texts[i] = token.content;
    if (token.is_normalized) {
      std::vector<TextMark> no_marks;
      RETURN_IF_ERROR(normalizer.apply(texts[i], no_marks, scratch));
      if (texts[i].empty()) {
        return invalid_argument("added_tokens",
                                quote_text(token.content) + " normalises to nothing");
      }
    }
    (token.is_normalized ? normalized : raw)
        .push_back({texts[i], static_cast<uint32_t>(i), is_plain_token(token)});
  }
  raw_matcher_ = AddedTokensMatcher(raw);
  normalized_matcher_ = AddedTokensMatcher(normalized);
  return {};
}

const AddedToken* AddedTokens::find(int32_t id) const {
  if (id < 0 || id >= id_end()) return nullptr;
  const int32_t index = index_by_id_[static_cast<size_t>(id)];
  return index < 0 ? nullptr : &tokens_[static_cast<size_t>(index)];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto id = contents_.find(content);
  return id ? find(*id) : nullptr;
}

bool AddedTokens::is_special(int32_t id) const {
  const AddedToken* token = find(id);
  return token != nullptr && token->is_special;
}

}  // namespace cascade
