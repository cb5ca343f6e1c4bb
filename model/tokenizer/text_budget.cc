// Limits the cost of encoding one text.
#include "model/tokenizer/text_budget.h"

#include <string>

namespace cascade {
namespace {

// The normaliser may triple a text, and the byte-level alphabet doubles what is not ASCII.
constexpr size_t kBytesPerByte = 8;
constexpr size_t kBytesAlways = size_t{1} << 20;

// Without compiled code, where memory may not be made executable, a real pattern takes some 0.1 us
// for each byte.
constexpr int64_t kMicrosecondsPerByte = 1;
constexpr int64_t kMicrosecondsAlways = 1'000'000;

}  // namespace

TextBudget::TextBudget(size_t text_bytes, const Clock& processor, const Clock& wall)
    : processor_(processor),
      wall_(wall),
      bytes_max_(kBytesAlways + kBytesPerByte * text_bytes),
      time_max_us_(kMicrosecondsAlways + kMicrosecondsPerByte * static_cast<int64_t>(text_bytes)),
      begin_us_(processor.monotonic_us()),
      wall_begin_us_(wall.monotonic_us()),
      bytes_left_(bytes_max_) {}

bool TextBudget::take_bytes(size_t bytes) {
  if (bytes > bytes_left_) return false;
  bytes_left_ -= bytes;
  return true;
}

Error TextBudget::too_long() const {
  return invalid_argument("text", "becomes longer than " + std::to_string(bytes_max_) +
                                      " bytes by the steps of the tokenizer");
}

bool TextBudget::has_time() const {
  if (wall_.monotonic_us() - wall_begin_us_ <= time_max_us_) return true;
  return processor_.monotonic_us() - begin_us_ <= time_max_us_;
}

}  // namespace cascade
