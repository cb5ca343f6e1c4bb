// What the tests of what a model writes share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

using Ids = std::vector<int32_t>;
using Stops = std::vector<std::string>;

inline const Tokenizer& demo_tokenizer() {
  static const ModelText text = [] {
    auto loaded = load_model_text(demo_model_dir());
    EXPECT_TRUE(loaded.ok());
    return *std::move(loaded);
  }();
  return text.tokenizer;
}

}  // namespace cascade::testing
