// Byte pair encoding as Hugging Face's tokenizers do it: vocabulary, merge rules, fallbacks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/bpe_junctions.h"
#include "model/tokenizer/bpe_merges.h"
#include "model/tokenizer/bpe_table.h"
#include "model/tokenizer/bpe_vocabulary.h"
#include "model/tokenizer/json.h"

namespace cascade {

// Errors: kUnsupported unless "model" is a BPE without dropout, without prefixes and suffixes of
// subwords, and without fields that we do not know.
Status check_bpe_supported(const JsonPart& model);

// Reads `model.vocab`. Errors: kInvalidArgument for an id outside [0, kTokenIdEnd), one taken
// twice, a token that is not UTF-8.
Result<BpeVocabulary> load_bpe_vocabulary(const JsonPart& model);

// Turns a pre-tokenised piece into symbols and merges them. The first symbols are the code points
// of the piece, or its bytes. Immutable after load; any thread.
class BpeModel {
 public:
  struct Options {
    // The piece is bytes, each of which stands for a character of the byte-level alphabet. Set only
    // if has_byte_alphabet().
    bool is_byte_level = false;
    // By id: the tokens that neither merges nor `ignore_merges` give, because only trusted text may
    // name them. (A blocked token that is a single character of the alphabet is still the token of
    // that character in ordinary text.)
    std::vector<bool> is_blocked;
    // The tokens' scores by id. If there are any, merges follow from the scores
    // (BpeMerges::from_scores), not from "merges". Used by load() alone.
    std::span<const float> scores = {};
  };

  // Whether the vocabulary has all 256 characters of the byte-level alphabet.
  static bool has_byte_alphabet(const BpeVocabulary& vocabulary);

  // `vocabulary` must outlive the model. Precondition: check_bpe_supported(). Errors:
  // kInvalidArgument for malformed fields, rules and byte tokens.
  static Result<BpeModel> load(const JsonPart& model, const BpeVocabulary& vocabulary,
                               Options options);

 private:
  friend class BpeEncoder;

  BpeModel(const BpeVocabulary& vocabulary, Options options)
      : vocabulary_(&vocabulary),
        is_blocked_(std::move(options.is_blocked)),
        is_byte_level_(options.is_byte_level) {}
  bool is_blocked(int32_t id) const {
    return static_cast<size_t>(id) < is_blocked_.size() && is_blocked_[static_cast<size_t>(id)];
  }
  void load_characters();
  void load_byte_alphabet();
  Status load_fallbacks(const JsonPart& model);
  Status load_byte_tokens(const JsonPart& model);
  Status load_merges(const JsonPart& model, std::span<const float> scores);

  // The id of the symbol that is just this code point, or -1.
  int32_t character_id(uint32_t code_point) const {
    const uint64_t id = characters_.find(code_point);
    return id == BpeTable::kNone ? -1 : static_cast<int32_t>(id);
  }
  // Appends the first symbols of a run.
  void append_symbols(std::string_view run, std::vector<int32_t>& symbols) const;
  // Appends the byte tokens of a character that is not in the vocabulary, if all exist.
  bool append_byte_tokens(std::string_view character, std::vector<int32_t>& symbols) const;
  // End of the run that begins at `begin`: no rule joins the units before and after that end.
  size_t run_end(std::string_view piece, size_t begin) const;
  // The id that `ignore_merges` gives for the whole piece.
  std::optional<int32_t> whole_id(std::string_view piece) const;

  const BpeVocabulary* vocabulary_;
  BpeMerges merges_;
  BpeJunctions junctions_;
  std::vector<bool> is_blocked_;
  bool is_byte_level_ = false;
  bool ignore_merges_ = false;
  bool fuse_unknown_ = false;
  bool is_cuttable_ = false;  // each run can be merged by itself
  int32_t unknown_id_ = -1;   // -1: unknown characters give nothing
  // The ids of the alphabet if is_byte_level_; else those of "<0x00>"..., -1 where there is none.
  std::array<int32_t, 256> byte_ids_{};
  BpeTable characters_;  // code point -> id
};

}  // namespace cascade
