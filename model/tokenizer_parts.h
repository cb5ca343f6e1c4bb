// The parts that a loaded tokenizer.json consists of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/added_tokens_table.h"
#include "model/bpe_model.h"
#include "model/bpe_vocabulary.h"
#include "model/pre_tokenizer_pipeline.h"
#include "model/token_decoder_steps.h"
#include "model/tokenizer_normalizer.h"
#include "model/tokenizer_template.h"
#include "model/tokenizer_text.h"

namespace cascade {

// Immutable after load; any thread.
struct TokenizerParts {
  std::unique_ptr<const BpeVocabulary> vocabulary;  // the model refers to it
  Normalizer normalizer;
  AddedTokens added_tokens;
  PreTokenizer pre_tokenizer;
  BpeModel model;
  TokenizerTemplate sequence_template;
  std::vector<DecodeStep> decode_steps;

  // Errors: as Tokenizer::load.
  static Result<TokenizerParts> load(const Json& tokenizer, const Json& config);

  // The text of an added token or vocabulary entry; null if no token has this id.
  const std::string* token_text(int32_t id) const;

  // Appends the ids of `text`. Errors: as Tokenizer::encode.
  Status encode(const TrustedText& text, std::vector<int32_t>& out) const;
};

}  // namespace cascade
