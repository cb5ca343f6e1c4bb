// A random document of a grammar, byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/grammar/matcher.h"
#include "model/mark_bytes.h"

namespace cascade::testing {

// The bytes that may come next; those that close something come first.
inline std::vector<uint8_t> next_bytes(const Matcher& matcher) {
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    Matcher tried = matcher;
    if (tried.accept(std::string(1, static_cast<char>(byte)))) {
      bytes.push_back(static_cast<uint8_t>(byte));
    }
  }
  return bytes;
}

// A random document, or nullopt if it did not end within a few thousand bytes. `closing_text`: a
// text that often comes next where it may, because it closes something.
inline std::optional<std::string> random_walk(GrammarAutomaton& automaton, Random& random,
                                              const std::string& closing_text = "") {
  Matcher matcher(automaton);
  std::string text;
  while (text.size() < 4000) {
    EXPECT_TRUE(matcher.is_complete() || matcher.can_continue()) << text;
    const bool hurry = text.size() > 400;
    if (matcher.is_complete() && (hurry || !matcher.can_continue() || random.unit() < 0.3)) {
      return text;
    }
    const bool closes = !closing_text.empty() && random.unit() < (hurry ? 0.9 : 0.2);
    if (closes && matcher.accept(closing_text)) {
      text += closing_text;
      continue;
    }
    const std::vector<uint8_t> bytes = next_bytes(matcher);
    EXPECT_EQ(bytes.empty(), !matcher.can_continue()) << text;
    if (bytes.empty()) return text;
    uint8_t byte = bytes[random.below(bytes.size())];
    if (random.unit() < (hurry ? 0.9 : 0.4)) {
      for (const char c : {'"', kMarkByte, '}', ']'}) {
        const auto closing = std::ranges::find(bytes, static_cast<uint8_t>(c));
        if (closing != bytes.end()) byte = *closing;
      }
    }
    EXPECT_TRUE(matcher.accept(std::string(1, static_cast<char>(byte))));
    text.push_back(static_cast<char>(byte));
  }
  return std::nullopt;
}

}  // namespace cascade::testing
