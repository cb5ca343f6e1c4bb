// Random numbers: a counter-based generator for sampling, and unguessable ids from the system.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cascade {

// The n-th output of the stream named by `seed`: SplitMix64 (Steele, Lea, Flood 2014) evaluated at
// a counter, so that a token's draw depends on (seed, position) only and not on how many draws
// other requests took. Any thread.
uint64_t counter_random(uint64_t seed, uint64_t counter);

// The same output as a number in [0, 1) with 53 random bits.
double counter_random_unit(uint64_t seed, uint64_t counter);

// A sequential generator on the same function, for tests and simulations; satisfies
// UniformRandomBitGenerator.
class Random {
 public:
  using result_type = uint64_t;
  explicit Random(uint64_t seed) : seed_(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() { return counter_random(seed_, counter_++); }
  // Uniform in [0, n). Precondition: n > 0. The bias of n/2^64 does not matter here.
  uint64_t below(uint64_t n) { return (*this)() % n; }
  double unit() { return counter_random_unit(seed_, counter_++); }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

// 64 bits from the operating system's generator.
uint64_t system_random();

// "<prefix>_" and 32 hexadecimal digits (128 bits) from the operating system: ids that another
// tenant cannot guess.
std::string random_id(std::string_view prefix);
// Like random_id(prefix), but from `random`, which gives 64 bits per call. Others can guess the id
// unless `random` is system_random(): for tests.
std::string random_id(std::string_view prefix, const std::function<uint64_t()>& random);

}  // namespace cascade
