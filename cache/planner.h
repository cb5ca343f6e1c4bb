// What to compute next: a pure function of what is waiting and how fast the machine is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cascade {

// Speeds as measured so far; each job's answer updates them.
class SpeedEstimate {
 public:
  void add_prefill(int64_t tokens, int64_t compute_us);
  // `tokens`: sampled in those steps, all sequences together.
  void add_decode(int32_t steps, int64_t tokens, int64_t compute_us);
  // Microseconds a prompt token, a decode step, and a sampled token; 0 until the first measurement.
  double prefill_token_us() const { return prefill_token_us_; }
  double decode_step_us() const { return decode_step_us_; }
  double decode_token_us() const { return decode_token_us_; }

 private:
  double prefill_token_us_ = 0;
  double decode_step_us_ = 0;
  double decode_token_us_ = 0;
};

struct PlannerLimits {
  int batch_max = 16;          // sequences of one decode step
  int slice_tokens_max = 512;  // rows of one forward pass (Transformer::kRowsMax)
  // A burst of decode steps ends after about this time, so that text streams smoothly and a cancel
  // or a new request waits no longer than this.
  int64_t burst_us = 20'000;
  // A slice beside running decodes: their tokens are at most a burst and a slice apart.
  int64_t slice_beside_decode_us = 60'000;
  // A slice when nothing else runs: bounds how long a cancel waits.
  int64_t slice_alone_us = 250'000;
  int burst_steps_max = 64;
};

struct PlanInput {
  int decoding = 0;  // sequences that could take a step
  // The prompt that is being prefilled, if any: its next position and where it ends.
  struct Prompt {
    int64_t position = 0;
    int64_t end = 0;
  };
  std::optional<Prompt> prompt;       // of a request
  std::optional<Prompt> idle_prompt;  // of a retained output, only when nothing else is to do
  bool last_was_decode = false;
};

struct Plan {
  enum class Kind { kNothing, kDecode, kPrefill, kIdlePrefill } kind = Kind::kNothing;
  int decode_steps = 0;   // at most so many, of up to batch_max sequences
  int64_t slice_end = 0;  // prefill up to this position
};

// Decode steps and prompt slices alternate while both are waiting; a slice ends at a multiple of 64
// tokens or at the prompt's end, and is as long as the time limits and the measured speed allow.
Plan plan_next(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits);

}  // namespace cascade
