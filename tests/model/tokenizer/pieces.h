// The pieces into which a pre-tokenizer cuts a text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/pre_tokenizer_pipeline.h"

namespace cascade::testing {

using Pieces = std::vector<std::string>;

class PieceCollector : public PieceSink {
 public:
  void piece(std::string_view piece) override { pieces.emplace_back(piece); }
  Pieces pieces;
};

// `json` is a member "pre_tokenizer". Fails the test if it cannot be loaded, or does not split.
inline Pieces split(const Json& json, std::string_view text, bool is_start = true) {
  const auto pre_tokenizer = PreTokenizer::load(&json, "pre_tokenizer");
  EXPECT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().to_string();
  if (!pre_tokenizer.ok()) return {};
  TextBudget budget(text.size());
  RegexScratch scratch(budget);
  PieceCollector collector;
  const Status status = pre_tokenizer->split(text, is_start, scratch, collector);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
  return collector.pieces;
}

}  // namespace cascade::testing
