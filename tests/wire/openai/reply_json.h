// Replies as JSON.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace cascade::testing {

inline OrderedJson parsed(const std::string& text) {
  auto json = parse_ordered_json(text, "reply");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : OrderedJson();
}

}  // namespace cascade::testing
