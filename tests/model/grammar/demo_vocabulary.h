// The demo model's tokens as constrained sampling sees them.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "model/grammar/vocabulary.h"
#include "tests/model/output_testing.h"

namespace cascade::testing {

inline int32_t demo_id(std::string_view token) {
  return demo_tokenizer().token_id(token).value_or(-1);
}

inline constexpr size_t kDemoTokens = 8192;

inline const GrammarVocabulary& demo_vocabulary() {
  static const auto vocabulary =
      GrammarVocabulary::make(demo_tokenizer(), {demo_id("<|im_end|>")}, kDemoTokens);
  EXPECT_TRUE(vocabulary.ok());
  return *vocabulary;
}

}  // namespace cascade::testing
