// Byte pair encoding as Hugging Face's tokenizers do it.
#include "model/tokenizer/bpe_model.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_byte_alphabet.h"

namespace cascade {
namespace {

std::string byte_token(int byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Whether a token is spelled like a byte token but names no byte.
bool is_malformed_byte_token(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
         !(is_hex_digit(token[3]) && is_hex_digit(token[4]));
}

bool is_byte_token(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
}

uint32_t first_code_point(std::string_view text) {
  return utf8_decode(text, 0).value;
}

uint32_t last_code_point(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return utf8_decode(text, begin).value;
}

// The number by which the model's symbols are compared: the code point, or the byte that the code
// point stands for.
uint32_t unit_of(uint32_t code_point, bool is_byte_level) {
  if (!is_byte_level) return code_point;
  return byte_level_byte(code_point).value_or(0);
}

}  // namespace

Status check_bpe_supported(const JsonPart& model) {
  RETURN_IF_ERROR(
      model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  ASSIGN_OR_RETURN(const std::string type, model.text_or("type", "BPE"));
  if (type != "BPE") return unsupported(model.path_of("type"), quote_text(type) + " is not BPE");
  if (const Json* dropout = model.find("dropout")) {
    if (!dropout->is_number() || dropout->get<double>() != 0.0) {
      return unsupported(model.path_of("dropout"), "must be absent or 0");
    }
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    ASSIGN_OR_RETURN(const std::string value, model.text_or(key, ""));
    if (!value.empty()) return unsupported(model.path_of(key), "must be absent or empty");
  }
  return {};
}

Result<BpeVocabulary> load_bpe_vocabulary(const JsonPart& model) {
  ASSIGN_OR_RETURN(const JsonPart vocab, model.child("vocab"));
  BpeVocabulary vocabulary;
  for (const auto& [token, number] : model.find("vocab")->items()) {
    const std::optional<int32_t> id = token_id_from(number);
    if (!id) {
      return invalid_argument(vocab.path(), "the id of " + quote_text(token) +
                                                " must be a whole number from 0 to " +
                                                std::to_string(kTokenIdEnd - 1));
    }
    RETURN_IF_ERROR(vocabulary.add(token, *id, vocab.path()));
  }
  return vocabulary;
}

bool BpeModel::has_byte_alphabet(const BpeVocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    if (!vocabulary.find(byte_level_spelling(std::string(1, static_cast<char>(byte))))) {
      return false;
    }
  }
  return true;
}

Result<BpeModel> BpeModel::load(const JsonPart& model, const BpeVocabulary& vocabulary,
                                Options options) {
  const std::span<const float> scores = options.scores;
  BpeModel loaded(vocabulary, std::move(options));
  ASSIGN_OR_RETURN(loaded.ignore_merges_, model.flag_or("ignore_merges", false));
  ASSIGN_OR_RETURN(loaded.fuse_unknown_, model.flag_or("fuse_unk", false));
  if (loaded.is_byte_level_) {
    loaded.load_byte_alphabet();
  } else {
    loaded.load_characters();
  }
  RETURN_IF_ERROR(loaded.load_fallbacks(model));
  RETURN_IF_ERROR(loaded.load_merges(model, scores));
  return loaded;
}

Status BpeModel::load_merges(const JsonPart& model, std::span<const float> scores) {
  ASSIGN_OR_RETURN(const Json* rules, model.array("merges"));
  bool merges_byte_tokens = false;
  const auto visit = [&](std::string_view left, std::string_view right) {
    junctions_.add(unit_of(last_code_point(left), is_byte_level_),
                   unit_of(first_code_point(right), is_byte_level_));
    merges_byte_tokens = merges_byte_tokens || is_byte_token(left) || is_byte_token(right);
  };
  const auto blocked = [this](int32_t id) { return is_blocked(id); };
  if (scores.empty()) {
    ASSIGN_OR_RETURN(
        merges_, BpeMerges::load(*rules, model.path_of("merges"), *vocabulary_, blocked, visit));
  } else {
    ASSIGN_OR_RETURN(merges_, BpeMerges::from_scores(scores, model.path_of("vocab"), *vocabulary_,
                                                     blocked, visit));
  }
  junctions_.finish();
  // A character that is not in the vocabulary is in no rule. A text can be cut beside it, but only
  // if it becomes byte tokens and no rule knows these.
  const bool has_all_bytes = std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
  is_cuttable_ = is_byte_level_ || (has_all_bytes && !merges_byte_tokens);
  return {};
}

void BpeModel::load_byte_alphabet() {
  for (int byte = 0; byte < 256; ++byte) {
    const auto id = vocabulary_->find(byte_level_spelling(std::string(1, static_cast<char>(byte))));
    CHECK(id.has_value());
    byte_ids_[static_cast<size_t>(byte)] = *id;
  }
}

void BpeModel::load_characters() {
  std::vector<std::pair<uint32_t, int32_t>> found;
  for (int32_t id = 0; id < vocabulary_->id_end(); ++id) {
    const std::string* text = vocabulary_->text(id);
    if (text == nullptr || text->empty()) continue;
    const CodePoint first = utf8_decode(*text, 0);
    if (first.size == text->size()) found.emplace_back(first.value, id);
  }
  characters_ = BpeTable(found.size());
  for (const auto& [code_point, id] : found) {
    characters_.insert(code_point, static_cast<uint64_t>(id));
  }
}

Status BpeModel::load_fallbacks(const JsonPart& model) {
  if (!is_byte_level_) RETURN_IF_ERROR(load_byte_tokens(model));
  ASSIGN_OR_RETURN(const std::string unknown, model.text_or("unk_token", ""));
  if (unknown.empty()) return {};
  const auto id = vocabulary_->find(unknown);
  const bool is_needed = std::find(byte_ids_.begin(), byte_ids_.end(), -1) != byte_ids_.end();
  if (!id && is_needed) {
    return invalid_argument(model.path_of("unk_token"), "is not in the vocabulary");
  }
  unknown_id_ = id.value_or(-1);
  return {};
}

Status BpeModel::load_byte_tokens(const JsonPart& model) {
  byte_ids_.fill(-1);
  ASSIGN_OR_RETURN(const bool has_byte_fallback, model.flag_or("byte_fallback", false));
  if (!has_byte_fallback) return {};
  for (int32_t id = 0; id < vocabulary_->id_end(); ++id) {
    const std::string* text = vocabulary_->text(id);
    if (text != nullptr && is_malformed_byte_token(*text)) {
      return invalid_argument(model.path_of("vocab"), quote_text(*text) + " names no byte");
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[static_cast<size_t>(byte)] = vocabulary_->find(byte_token(byte)).value_or(-1);
  }
  return {};
}

bool BpeModel::append_byte_tokens(std::string_view character, std::vector<int32_t>& symbols) const {
  const size_t before = symbols.size();
  for (const char byte : character) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id < 0) {
      symbols.resize(before);
      return false;
    }
    symbols.push_back(id);
  }
  return true;
}

void BpeModel::append_symbols(std::string_view run, std::vector<int32_t>& symbols) const {
  if (is_byte_level_) {
    for (const char byte : run) symbols.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
    return;
  }
  // An unknown symbol is written before the next known character or at the end, but not before byte
  // tokens: the reference has this order.
  bool has_pending = false;
  for (size_t offset = 0; offset < run.size();) {
    const CodePoint code_point = utf8_decode(run, offset);
    const std::string_view character = run.substr(offset, code_point.size);
    offset += code_point.size;
    const int32_t id = character_id(code_point.value);
    if (id >= 0) {
      if (std::exchange(has_pending, false)) symbols.push_back(unknown_id_);
      symbols.push_back(id);
    } else if (!append_byte_tokens(character, symbols) && unknown_id_ >= 0) {
      if (has_pending && !fuse_unknown_) symbols.push_back(unknown_id_);
      has_pending = true;
    }
  }
  if (has_pending) symbols.push_back(unknown_id_);
}

size_t BpeModel::run_end(std::string_view piece, size_t begin) const {
  if (is_byte_level_) {
    size_t end = begin + 1;
    while (end < piece.size() && junctions_.joins(static_cast<uint8_t>(piece[end - 1]),
                                                  static_cast<uint8_t>(piece[end]))) {
      ++end;
    }
    return end;
  }
  CodePoint before = utf8_decode(piece, begin);
  size_t end = begin + before.size;
  while (end < piece.size()) {
    const CodePoint after = utf8_decode(piece, end);
    if (!junctions_.joins(before.value, after.value)) break;
    before = after;
    end += after.size;
  }
  return end;
}

std::optional<int32_t> BpeModel::whole_id(std::string_view piece) const {
  const auto id =
      is_byte_level_ ? vocabulary_->find(byte_level_spelling(piece)) : vocabulary_->find(piece);
  if (!id || is_blocked(*id)) return std::nullopt;
  return id;
}

}  // namespace cascade
