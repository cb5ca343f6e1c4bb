// What to compute next: a pure function of what is waiting and how fast the machine is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cache/prefill_time.h"

namespace cascade {

// Speeds as measured so far; each job's answer updates them.
class SpeedEstimate {
 public:
  // `growth`: as of PrefillTime.
  explicit SpeedEstimate(double growth = 0) : prefill_time_(growth) {}

  // A slice of so many tokens, whose first one stands at `position` of its prompt.
  void add_prefill(int64_t tokens, int64_t compute_us, int64_t position = 0);
  // `tokens`: sampled in those steps, all sequences together.
  void add_decode(int32_t steps, int64_t tokens, int64_t compute_us);
  // A request ended at `now_us`.
  void add_end(int64_t now_us);
  // Microseconds a prompt token, a decode step, and a sampled token; 0 until the first measurement.
  double prefill_token_us() const { return prefill_token_us_; }
  double decode_step_us() const { return decode_step_us_; }
  double decode_token_us() const { return decode_token_us_; }
  // How long tokens take by where they stand in their prompt.
  const PrefillTime& prefill_time() const { return prefill_time_; }
  // Between the ends of two requests, the last ones and the time since then; 0 until one has ended.
  double end_interval_us(int64_t now_us) const;

 private:
  // Requests of a batch end together: of fewer ends the mean would follow each burst.
  static constexpr size_t kEnds = 32;

  PrefillTime prefill_time_;
  double prefill_token_us_ = 0;
  double decode_step_us_ = 0;
  double decode_token_us_ = 0;
  std::deque<int64_t> ends_us_;  // the last kEnds, oldest first
};

struct PlannerLimits {
  int batch_max = 16;          // sequences of one decode step
  int slice_tokens_max = 512;  // rows of one forward pass (Transformer::kRowsMax)
  // A burst of decode steps ends after about this time, so that text streams smoothly and a cancel
  // or a new request waits no longer than this. Giving out a job takes some 0.1 ms.
  int64_t burst_us = 12'000;
  // Beside decodes, prompts get at most so much time for each microsecond of decoding ...
  double prompt_share = 0.9;
  // ... a long one in slices that are so many bursts apart: one of 40 waits between tokens is a
  // long one, so that their 95th percentile is that of an undisturbed stream, also on a machine
  // that is not quiet ...
  int bursts_between_slices = 40;
  // ... but no slice lets running generations wait longer than this.
  int64_t slice_beside_decode_us = 250'000;
  // While several tenants have work now and then, jobs are shorter: the next may be another's.
  int64_t job_contended_us = 5'000;
  // A prompt that is owed its time gets slices of this length then: they end it sooner.
  int64_t job_contended_owed_us = 10'000;
  // A slice when nothing else runs: bounds how long a cancel, or another request, waits.
  int64_t slice_alone_us = 100'000;
  // The same of work that nobody waits for.
  int64_t slice_idle_us = 60'000;
  int burst_steps_max = 64;
};

// The time that prompts may take beside decodes: fills while tokens are sampled, or nothing runs.
class PromptBudget {
 public:
  explicit PromptBudget(const PlannerLimits& limits)
      : limits_(limits), budget_us_(static_cast<double>(limits.slice_beside_decode_us)) {}

  // A burst took so long.
  void decoded(int64_t compute_us);
  // May leave a debt, of one budget at most.
  void prefilled(int64_t compute_us);

  double us() const { return budget_us_; }
  // Bursts since a prompt was computed.
  int bursts() const { return bursts_; }

 private:
  const PlannerLimits limits_;
  double budget_us_;
  int bursts_ = 0;
};

struct PlanInput {
  int decoding = 0;  // sequences that could take a step
  // The prompt that is being prefilled, if any: its next position and where it ends.
  struct Prompt {
    int64_t position = 0;
    int64_t end = 0;
  };
  std::optional<Prompt> prompt;  // of a request
  // Its tenant is below its share, those that decode are above: it need not ride.
  bool prompt_is_owed = false;
  std::optional<Prompt> idle_prompt;  // of a retained output, only when nothing else is to do
  double prompt_budget_us = 0;        // of PromptBudget
  int bursts_since_prompt = 0;        // of PromptBudget
  bool contended = false;             // several tenants have work
  bool last_was_decode = false;
};

struct Plan {
  enum class Kind { kNothing, kDecode, kPrefill, kIdlePrefill } kind = Kind::kNothing;
  int decode_steps = 0;   // at most so many, of up to batch_max sequences
  int64_t slice_end = 0;  // prefill up to this position
};

// A slice ends at a multiple of 64 tokens or at the prompt's end, and is as long as the time limits
// and the measured speed allow. Beside decodes, the end of a prompt is computed as soon as the
// budget covers it, and a long one in slices that are many bursts apart: short prompts are answered
// at once, long ones leave the tokens of running generations mostly as close together as before. A
// prompt that is owed its time does not wait for decodes.
Plan plan_next(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits);

}  // namespace cascade
