// Shared by the tests of a model's output.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
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

// A tokenizer that drops the space at the beginning of a text, as SentencePiece does. Its byte
// tokens are not special, as in real models.
inline const Tokenizer& mistral_tokenizer() {
  static const Tokenizer tokenizer = [] {
    const auto text = read_file(fixtures_dir() / "mistral-swa/tokenizer.json", size_t{16} << 20);
    Json json = *parse_json(text.value(), "tokenizer.json");
    Json& added = json["added_tokens"];
    added.erase(added.begin() + 3, added.begin() + 3 + 256);
    return *Tokenizer::load(json, Json());
  }();
  return tokenizer;
}

}  // namespace cascade::testing
