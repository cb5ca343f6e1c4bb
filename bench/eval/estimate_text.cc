// First the facts that all lengths share, then one line for each length.
#include "bench/eval/estimate_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/check.h"
#include "cache/kv_view.h"

namespace cascade::eval {
namespace {

constexpr int kColumn = 14;  // "16,777,216" and "1,023.9 GiB" fit

std::string right(const std::string& text) {
  return std::string(kColumn - std::min<size_t>(kColumn, text.size()), ' ') + text;
}

std::string fact(const std::string& name, const std::string& value) {
  return name + std::string(kColumn - std::min<size_t>(kColumn, name.size()), ' ') + "  " + value +
         "\n";
}

}  // namespace

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string in_units(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits.at(unit));
  return text.data();
}

std::string estimate_text(const EstimateFacts& facts, const std::vector<EstimateRow>& rows) {
  CHECK(!rows.empty());
  const MemoryEstimate& any = rows.front().needed;
  const int64_t sequences = facts.types.sequences;
  std::string text = facts.model + "\n\n";
  text += fact("weights", in_units(any.weights_bytes) + " as " + facts.weights +
                              (facts.why.empty() ? "" : ": " + facts.why));
  text += fact("K and V", with_commas(static_cast<int64_t>(any.page_bytes / kPageTokens)) +
                              " bytes a token as " + std::string(to_string(facts.types.kv_type)));
  uint64_t state_bytes = any.state_bytes;
  if (state_bytes > 0) {
    const uint64_t each = state_bytes / static_cast<uint64_t>(sequences);
    const uint64_t kept = static_cast<uint64_t>(facts.state_memory_bytes) / each;
    text += fact("states", in_units(each) +
                               " a sequence, of recurrent layers; the daemon keeps up to " +
                               with_commas(static_cast<int64_t>(kept)) +
                               " by default (state_memory), and others on disk");
    state_bytes = std::max(state_bytes, kept * each);
  }
  text += fact("working space", in_units(any.activation_bytes) + " with " +
                                    std::to_string(facts.types.threads) + " threads");
  text += "\n" + right("tokens") + right("K and V") + right("in memory") + right("kept on disk") +
          right("memory in all");
  text += sequences == 1 ? "\n" : "   for " + with_commas(sequences) + " sequences\n";
  for (const EstimateRow& row : rows) {
    text += right(with_commas(row.tokens)) + right(in_units(row.needed.kv_bytes)) +
            right(in_units(row.kv_in_memory_bytes)) + right(in_units(row.kv_disk_bytes)) +
            right(in_units(row.memory_bytes));
    text += row.tokens == facts.context_tokens_max ? "   the model's context\n" : "\n";
  }
  const auto pages = static_cast<uint64_t>(facts.kv_bytes_max) / any.page_bytes;
  const std::string most = in_units(static_cast<uint64_t>(facts.kv_bytes_max));
  text += facts.kv_memory_is_set
              ? "\nWith kv_memory " + most + " there is "
              : "\nWithout kv_memory the daemon gives K and V " + most + ", half of the " +
                    in_units(static_cast<uint64_t>(facts.memory_bytes)) + " that " +
                    (facts.memory_set_by.empty() ? "this machine has"
                                                 : facts.memory_set_by + " allows") +
                    ":\n";
  text +=
      "room for " + with_commas(static_cast<int64_t>(pages) * kPageTokens) + " tokens, and " +
      in_units(any.weights_bytes + any.activation_bytes + state_bytes + pages * any.page_bytes) +
      " in all when the KV cache is full.\nLonger sequences are read from disk where memory has "
      "no room for them, up to max_disk.\n";
  return text;
}

}  // namespace cascade::eval
