// The parts that a loaded tokenizer.json consists of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tokenizer/added_tokens_table.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/bpe_vocabulary.h"
#include "model/tokenizer/decoder_steps.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pre_tokenizer_pipeline.h"
#include "model/tokenizer/template.h"
#include "model/tokenizer/text.h"

namespace cascade {

// Immutable after load; any thread.
struct TokenizerParts {
  std::unique_ptr<const BpeVocabulary> vocabulary;  // `model` refers to it
  Normalizer normalizer;
  AddedTokens added_tokens;
  PreTokenizer pre_tokenizer;
  BpeModel model;
  TokenizerTemplate sequence_template;
  std::vector<DecodeStep> decode_steps;

  // Errors: as Tokenizer::load.
  static Result<TokenizerParts> load(const Json& tokenizer, const Json& config,
                                     std::span<const float> scores);

  // The text of an added token or vocabulary entry; null if no token has this id.
  const std::string* token_text(int32_t id) const;

  // Appends the ids of `text`. Errors: as Tokenizer::encode.
  Status encode(const TrustedText& text, std::vector<int32_t>& out) const;
};

}  // namespace cascade
