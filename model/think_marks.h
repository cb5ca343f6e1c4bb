// How models mark their thoughts.
#pragma once

#include <array>
#include <string_view>

namespace cascade {

// The spellings of the tokens around a block of thoughts.
struct ThinkMarks {
  std::string_view open, close;
  // What the model writes at the beginning of a block, and is no part of the thoughts.
  std::string_view header;
};

inline constexpr std::array<ThinkMarks, 3> kThinkMarks = {{
    {"<think>", "</think>", ""},
    {"[THINK]", "[/THINK]", ""},                // Mistral
    {"<|channel>", "<channel|>", "thought\n"},  // Gemma 4
}};

}  // namespace cascade
