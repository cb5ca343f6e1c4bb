// Limits the cost of encoding one text, whatever steps the tokenizer's file asks for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"

namespace cascade {

// Real tokenizers need under a tenth of each limit. One thread.
class TextBudget {
 public:
  // The budget for `text_bytes` bytes of text. `processor` gives the processor time of the thread
  // that encodes. Reading that clock costs a system call, so it is read only when more than the
  // allowed time has passed by `wall`.
  explicit TextBudget(size_t text_bytes, const Clock& processor = thread_clock(),
                      const Clock& wall = system_clock());

  // The number of bytes that steps may still write. The longest growth in real tokenizers is from a
  // space to the three bytes of U+2581.
  size_t bytes_left() const { return bytes_left_; }
  // Takes `bytes` from bytes_left(). If fewer are left, takes nothing and returns false.
  [[nodiscard]] bool take_bytes(size_t bytes);
  // kInvalidArgument with the limit, field "text".
  Error too_long() const;

  // Whether time is left, as the clocks say now.
  [[nodiscard]] bool has_time() const;
  // The same, but most calls do not read a clock.
  [[nodiscard]] bool has_time_for_call() { return ++calls_ % kCallsPerReading != 0 || has_time(); }

  int64_t time_max_us() const { return time_max_us_; }

 private:
  // One match that succeeds at once reads the text a few dozen times at most (regex.cc), so the
  // time between readings is bounded.
  static constexpr uint32_t kCallsPerReading = 32;

  const Clock& processor_;
  const Clock& wall_;
  const size_t bytes_max_;
  const int64_t time_max_us_;
  const int64_t begin_us_;
  const int64_t wall_begin_us_;
  size_t bytes_left_;
  uint32_t calls_ = 0;
};

}  // namespace cascade
