// Answers that a test writes, in place of those that the model samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tests/actors/scheduler_world.h"

namespace cascade::testing {

// While it exists, replaces the sampled tokens by `text`, then by the end of the turn. K and V are
// those of the written tokens. For one request at a time.
class Scripted {
 public:
  Scripted(SchedulerWorld& world, const std::string& text) : world_(world) {
    const Tokenizer& tokenizer = demo_model().tokenizer;
    tokens_ = *tokenizer.encode(text, /*trusted=*/true, false);
    tokens_.push_back(demo_model().generation.end_tokens.at(0));
    world.tamper = [this](wire::Message& message) { replace(message); };
  }
  ~Scripted() { world_.tamper = {}; }
  Scripted(const Scripted&) = delete;
  Scripted& operator=(const Scripted&) = delete;

 private:
  int32_t next() { return tokens_.at(std::min(at_++, tokens_.size() - 1)); }
  // The world gives bursts of one step, so that a written token is fed before the next is sampled.
  void replace(wire::Message& message) {
    if (auto* prefill = std::get_if<wire::PrefillDone>(&message)) {
      if (prefill->token >= 0) prefill->token = next();
    } else if (auto* decode = std::get_if<wire::DecodeDone>(&message)) {
      std::vector<int32_t>& ids = decode->sequences.at(0).token_ids;
      EXPECT_EQ(ids.size(), 1u);
      ids.at(0) = next();
    }
  }

  SchedulerWorld& world_;
  std::vector<int32_t> tokens_;
  size_t at_ = 0;
};

}  // namespace cascade::testing
