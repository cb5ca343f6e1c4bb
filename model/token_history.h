// The tokens of a prompt and its answer, and how often each was generated: the input of penalties.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace cascade {

// Memory grows with the number of distinct tokens. One thread.
class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(std::span<const int32_t> prompt, std::span<const int32_t> generated) {
    for (const int32_t token : prompt) generated_.try_emplace(token, 0);
    for (const int32_t token : generated) add_generated(token);
  }

  // Returns whether the history did not have the token before.
  bool add_generated(int32_t token) {
    const auto [entry, is_new] = generated_.try_emplace(token, 0);
    ++entry->second;
    return is_new;
  }
  // Undoes add_generated(), which returned `was_new`. The latest tokens are taken back first.
  void take_back(int32_t token, bool was_new) {
    const auto entry = generated_.find(token);
    --entry->second;
    if (was_new) generated_.erase(entry);
  }
  // Every token of the history, and how often it was generated (0 if only the prompt has it).
  const std::unordered_map<int32_t, int32_t>& tokens() const { return generated_; }

 private:
  std::unordered_map<int32_t, int32_t> generated_;
};

}  // namespace cascade
