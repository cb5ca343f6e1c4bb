// The regular expressions by which families of tokenizers cut text into words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cascade {

// The names of a family are in pre_tokenizers.cc.
enum class PreTokenizerFamily : uint8_t {
  kGpt2,
  kDigitsGpt2,  // splits single digits first
  kLlama3,
  kJais2,
  kMiniCpm5,
  kQwen2,
  kQwen35,
  kUfakZeka,
  kSeedCoder,
  kExaoneMoe,
  kLaguna,
  kTekken,
  kGpt4o,
  kAya,
  kYoutu,
  kKimiK2,
  kDeepSeekLlm,
  kDeepSeekCoder,
  kDeepSeekV3,
  kAfMoe,
  kBloom,
  kViking,
  kSuperBpe,
  kChameleon,
  kFalcon,
  kDefault,
};

// What the models' own tokenizers have, in the part of Oniguruma's syntax that regex_dialect.h
// translates. Each expression is applied to the pieces that the one before left: its matches, and
// the text between them, are the next pieces.
std::vector<std::string> pre_tokenizer_expressions(PreTokenizerFamily family);

}  // namespace cascade
