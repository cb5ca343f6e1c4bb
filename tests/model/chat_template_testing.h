// What the tests of the template engine have in common.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"
#include "model/chat_template.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

// 2026-01-02 03:04:05 UTC, the clock of the reference renderings.
inline constexpr int64_t kReferenceNow = 1'767'323'045;

inline std::string read_source(const std::filesystem::path& path) {
  auto text = read_file(path, size_t{1} << 20);
  EXPECT_TRUE(text.ok()) << text.error().to_string();
  return text.ok() ? *text : "";
}

inline OrderedJson read_ordered_json(const std::filesystem::path& path) {
  auto json = parse_ordered_json(read_source(path), path.string());
  EXPECT_TRUE(json.ok()) << json.error().to_string();
  return json.ok() ? *json : OrderedJson();
}

// Parses and renders; the error of either.
inline Result<SpannedText> render(std::string_view source,
                                  const OrderedJson& variables = OrderedJson::object(),
                                  const TemplateLimits& limits = {}) {
  ASSIGN_OR_RETURN(const ChatTemplate chat_template, ChatTemplate::parse(source, limits));
  return chat_template.render(variables, kReferenceNow);
}

// The text, or "error: ..." .
inline std::string rendered(std::string_view source,
                            const OrderedJson& variables = OrderedJson::object(),
                            const TemplateLimits& limits = {}) {
  const auto text = render(source, variables, limits);
  return text.ok() ? plain_text(*text) : "error: " + text.error().to_string();
}

}  // namespace cascade::testing
