// Probes by double hashing (Kirsch, Mitzenmacher 2006); the two hashes are bytes of the key's
// digest.
#include "cache/eviction_filter.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace cascade {
namespace {

// With ten bits and seven probes for each key, 0.8 % of other keys are taken for known ones.
constexpr size_t kBitsPerKey = 10;
constexpr uint64_t kProbes = 7;
constexpr size_t kWordBits = 64;

template <class Visit>
bool all_probes(uint64_t key, size_t words, const Visit& visit) {
  const uint64_t step = (key >> 32) | 1;  // uses other bits than the first probe
  const uint64_t mask = words * kWordBits - 1;
  for (uint64_t i = 0; i < kProbes; ++i) {
    const uint64_t bit = (key + i * step) & mask;
    if (!visit(bit / kWordBits, uint64_t{1} << (bit % kWordBits))) return false;
  }
  return true;
}

}  // namespace

EvictionFilter::EvictionFilter(size_t evictions)
    : keys_max_(evictions),
      words_(std::bit_ceil(std::max<size_t>(1, evictions * kBitsPerKey / kWordBits))) {}

void EvictionFilter::add(const Digest& key) {
  if (keys_max_ == 0) return;
  if (generations_[0].keys == keys_max_) {
    std::swap(generations_[0], generations_[1]);
    generations_[0] = {};
  }
  Generation& newer = generations_[0];
  if (newer.bits.empty()) newer.bits.resize(words_);
  ++newer.keys;
  all_probes(std::hash<Digest>()(key), words_, [&](size_t word, uint64_t bit) {
    newer.bits[word] |= bit;
    return true;
  });
}

bool EvictionFilter::may_have(const Digest& key) const {
  const uint64_t name = std::hash<Digest>()(key);
  return std::ranges::any_of(generations_,
                             [&](const Generation& generation) { return has(generation, name); });
}

bool EvictionFilter::has(const Generation& generation, uint64_t key) const {
  if (generation.bits.empty()) return false;
  return all_probes(key, words_,
                    [&](size_t word, uint64_t bit) { return (generation.bits[word] & bit) != 0; });
}

}  // namespace cascade
