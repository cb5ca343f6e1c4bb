// The added tokens of a model, and how they divide a text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tokenizer/added_tokens_matcher.h"
#include "model/tokenizer/bpe_vocabulary.h"
#include "model/tokenizer/json.h"
#include "model/tokenizer/normalizer.h"

namespace cascade {

// A token that is recognised in the text itself, before it is normalised and cut into words.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool is_single_word = false;  // matches only if not beside a letter or digit
  bool strips_left = false;     // takes the white space before it
  bool strips_right = false;    // takes the white space after it
  bool is_normalized = false;   // recognised in normalised text
  bool is_special = false;      // never shown to users
};

// Whether a token is recognised in untrusted text too: it is not special, and nothing in it looks
// like markup (none of < > [ ] | and U+FF5C), so that it marks no structure of a prompt.
bool is_plain_token(const AddedToken& token);

// Immutable after load; any thread.
class AddedTokens {
 public:
  // Reads "added_tokens" of tokenizer.json, then "added_tokens_decoder" of tokenizer_config.json
  // (`config`, or null), whose flags win. Errors: kInvalidArgument for a malformed entry, a content
  // that is empty or longer than 512 bytes, an id or content that is taken, here or in
  // `vocabulary`; kUnsupported for an unknown field.
  static Result<AddedTokens> load(const JsonPart& root, const Json& config,
                                  const BpeVocabulary& vocabulary, const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  // Null if no added token has this id, or this content.
  const AddedToken* find(int32_t id) const;
  const AddedToken* find(std::string_view content) const;
  bool is_special(int32_t id) const;
  // One past the largest id; 0 if there is none.
  int32_t id_end() const { return static_cast<int32_t>(index_by_id_.size()); }

  // The matchers of the tokens that are recognised before normalisation, and after it.
  const AddedTokensMatcher& raw_matcher() const { return raw_matcher_; }
  const AddedTokensMatcher& normalized_matcher() const { return normalized_matcher_; }

 private:
  AddedTokens() : raw_matcher_({}), normalized_matcher_({}) {}
  Status load_list(const JsonPart& root, const BpeVocabulary& vocabulary);
  Status load_config(const JsonPart& config, const BpeVocabulary& vocabulary);
  Status add(AddedToken token, const BpeVocabulary& vocabulary, const std::string& field);
  Status build_matchers(const Normalizer& normalizer);

  std::vector<AddedToken> tokens_;
  BpeVocabulary contents_;
  std::vector<int32_t> index_by_id_;  // -1: none
  AddedTokensMatcher raw_matcher_;
  AddedTokensMatcher normalized_matcher_;
};

// A part of a text: a token, or text between tokens (`token` is null).
struct AddedTokenPart {
  ByteRange range;
  const AddedToken* token = nullptr;
};

// Divides a text at the tokens of one matcher of `tokens`. Keeps references to all its arguments.
class AddedTokensScan {
 public:
  AddedTokensScan(const AddedTokens& tokens, const AddedTokensMatcher& matcher,
                  std::string_view text, std::span<const ByteRange> trusted)
      : tokens_(tokens), text_(text), scan_(matcher, text, trusted) {}

  // The next part, in order; a part without a token is not empty.
  std::optional<AddedTokenPart> next();

 private:
  bool is_word_beside(ByteRange range) const;
  ByteRange with_spaces(ByteRange range, const AddedToken& token);
  // End of the white space at `begin`; each run is walked once.
  size_t spaces_end(size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  AddedTokensMatcher::Scan scan_;
  std::optional<AddedTokenPart> pending_;
  size_t done_ = 0;
  ByteRange spaces_;  // the run that spaces_end() walked last
};

}  // namespace cascade
