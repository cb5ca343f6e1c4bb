// Most lengths are short, so that hundreds of cases take a minute. Many are near the borders of
// pages (64) and of splits (1,024), where arrangements differ most.
#include "bench/eval/identity_case.h"

#include <algorithm>
#include <iterator>

#include "base/random.h"
#include "cache/kv_view.h"

namespace cascade::eval {
namespace {

constexpr int kMatesMax = 6;
constexpr int kOutputsMax = 40;  // rows of logits that both runs keep
// The largest number of tokens that an earlier run has after the shared prefix: enough to fill the
// rest of the prefix's last page.
constexpr int kDonorTailMax = 70;

template <size_t n>
int one_of(Random& random, const int (&values)[n]) {
  return values[random.below(n)];
}

// A number in [1, max]; small ones are more likely.
int skewed(Random& random, int max) {
  int bits = 1;
  while (bits < 30 && (1 << bits) < max) ++bits;
  const auto below = uint64_t{1} << (1 + random.below(static_cast<uint64_t>(bits)));
  return std::min(max, 1 + static_cast<int>(random.below(below)));
}

int draw_length(Random& random, int max) {
  const uint64_t kind = random.below(200);
  int length = 0;
  if (kind < 100) {
    length = skewed(random, kPageTokens);
  } else if (kind < 150) {
    length = one_of(random, {63, 64, 65, 127, 128, 129});
  } else if (kind < 184) {
    length = 1 + static_cast<int>(random.below(512));
  } else if (kind < 196) {
    length = one_of(random, {1023, 1024, 1025, 1088});
  } else {
    length = 1 + static_cast<int>(random.below(static_cast<uint64_t>(max)));
  }
  return std::min(length, max);
}

std::vector<int32_t> draw_ids(Random& random, int count, int vocab_size) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab_size)));
  }
  return ids;
}

void draw_prefix(Random& random, const IdentityLimits& limits, IdentityCase& result) {
  const int length = static_cast<int>(result.ids.size());
  if (length < 2 || random.below(2) == 0) return;
  int prefix = 1 + static_cast<int>(random.below(static_cast<uint64_t>(length - 1)));
  if (prefix > kPageTokens && random.below(3) == 0) prefix -= prefix % kPageTokens;
  result.prefix = prefix;
  result.donor_ids.assign(result.ids.begin(), result.ids.begin() + prefix);
  const int tail_max = std::min(kDonorTailMax, limits.context_tokens_max - prefix);
  const auto tail =
      draw_ids(random, static_cast<int>(random.below(uint64_t(tail_max) + 1)), limits.vocab_size);
  result.donor_ids.insert(result.donor_ids.end(), tail.begin(), tail.end());
  result.donor_slice = random.below(4) == 0 ? 0 : one_of(random, kSliceSizes);
  result.donor_threads = 1 + static_cast<int>(random.below(uint64_t(limits.threads_max)));
}

MatePlan draw_mate(Random& random, const IdentityLimits& limits) {
  MatePlan mate;
  mate.shares_pages = random.below(2) == 0;
  mate.decodes = random.below(2) == 0;
  const int longest = std::min(limits.context_tokens_max, 300);
  mate.ids = draw_ids(random, skewed(random, longest), limits.vocab_size);
  // A mate that decodes has these tokens as its history. Other mates are in the middle of their
  // prompts, or new.
  if (!mate.shares_pages && (mate.decodes || random.below(2) == 0)) {
    mate.start = static_cast<int>(random.below(mate.ids.size()));
  }
  return mate;
}

}  // namespace

IdentityCase draw_case(uint64_t seed, const IdentityLimits& limits) {
  Random random(seed);
  IdentityCase result;
  result.seed = seed;
  const int length = draw_length(random, limits.tokens_max);
  result.ids = draw_ids(random, length, limits.vocab_size);
  draw_prefix(random, limits, result);
  result.outputs = skewed(random, std::min(kOutputsMax, length - result.prefix));
  result.slice = random.below(std::size(kSliceSizes) + 1) == 0 ? 0 : one_of(random, kSliceSizes);
  result.threads = 1 + static_cast<int>(random.below(uint64_t(limits.threads_max)));
  const auto mates = random.below(kMatesMax + 1);
  for (uint64_t i = 0; i < mates; ++i) result.mates.push_back(draw_mate(random, limits));
  return result;
}

uint64_t case_seed(uint64_t seed, uint64_t index) {
  return counter_random(seed, index) >> 11;
}

}  // namespace cascade::eval
