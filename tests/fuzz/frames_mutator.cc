// Mutations of frames that keep most of their structure. An arbitrary change would not: one more
// byte in a frame makes nonsense of all later lengths.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/frames_input.h"
#include "tests/wire/random_message.h"

// Provided by libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

namespace cascade::fuzz {
namespace {

// Changes the bytes as libFuzzer does, which uses the values that it saw in comparisons.
void mutate_frame(wire::Frame& frame) {
  constexpr size_t kGrowthMax = 64;
  const size_t size = frame.size();
  frame.resize(size + kGrowthMax);
  frame.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(frame.data()), size, frame.size()));
}

std::string mutated(Bytes input, Random& random) {
  wire::Frames frames = split_frames(input);
  if (frames.empty() || random.below(64) == 0) {
    return join_frames(*wire::encode(wire::testing::random_envelope(random)));
  }
  if (random.below(4) == 0) {
    wire::testing::damage(random, frames);
  } else {
    const bool body = random.below(4) != 0 && frames.size() > 2;
    mutate_frame(frames[body ? 2 : random.below(frames.size())]);
  }
  return join_frames(frames);
}

}  // namespace
}  // namespace cascade::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned int seed) {
  cascade::Random random(seed);
  const std::string made = cascade::fuzz::mutated({data, size}, random);
  const size_t made_size = std::min(made.size(), size_max);
  std::memcpy(data, made.data(), made_size);
  return made_size;
}
