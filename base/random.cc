// SplitMix64 at a counter; getrandom(2) for ids.
#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace cascade {
namespace {

// The finaliser of SplitMix64: a bijection whose output passes BigCrush on a counter input.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

void append_hex(std::string& out, uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[value >> shift & 15]);
}

}  // namespace

uint64_t counter_random(uint64_t seed, uint64_t counter) {
  return mix(mix(seed + kGoldenGamma) + (counter + 1) * kGoldenGamma);
}

double counter_random_unit(uint64_t seed, uint64_t counter) {
  return static_cast<double>(counter_random(seed, counter) >> 11) * 0x1.0p-53;
}

uint64_t system_random() {
  uint64_t value = 0;
  // 8 bytes are always delivered whole once the kernel's pool is ready (getrandom(2)).
  CHECK(::getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return value;
}

std::string random_id(std::string_view prefix) {
  return random_id(prefix, system_random);
}

std::string random_id(std::string_view prefix, const std::function<uint64_t()>& random) {
  std::string id(prefix);
  id.push_back('_');
  append_hex(id, random());
  append_hex(id, random());
  return id;
}

}  // namespace cascade
