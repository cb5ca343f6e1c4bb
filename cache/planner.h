// Decides what to compute next: a pure function of what is waiting and how fast the machine is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cache/prefill_time.h"

namespace cascade {

// The speeds measured so far; each job's answer updates them.
class SpeedEstimate {
 public:
  // `growth` and `layers` are those of PrefillTime.
  explicit SpeedEstimate(double growth = 0, int layers = 1) : prefill_time_(growth, layers) {}

  // Adds a slice of `tokens` tokens, whose first one is at `position` of its prompt.
  void add_prefill(int64_t tokens, int64_t compute_us, int64_t position = 0);
  // Adds a slice of a prompt that is longer than memory, to prefill_time() only. Most such slices
  // are far back in their prompts, and prefill_token_us() does not know positions.
  void add_long_prefill(int64_t tokens, int64_t compute_us, int64_t position) {
    prefill_time_.add(position, tokens, compute_us);
  }
  // `tokens` is the number of tokens sampled in these `steps` steps, all sequences together.
  void add_decode(int32_t steps, int64_t tokens, int64_t compute_us);
  // Notes that a request ended at `now_us`.
  void add_end(int64_t now_us);
  // Microseconds per prompt token, decode step and sampled token; 0 until the first measurement.
  double prefill_token_us() const { return prefill_token_us_; }
  double decode_step_us() const { return decode_step_us_; }
  double decode_token_us() const { return decode_token_us_; }
  // How long tokens take, depending on their position in the prompt.
  const PrefillTime& prefill_time() const { return prefill_time_; }
  // The mean time between the ends of two requests, over the last ends and the time since then; 0
  // until one has ended.
  double end_interval_us(int64_t now_us) const;

 private:
  // Requests of a batch end together: over fewer ends, the mean would follow each burst.
  static constexpr size_t kEnds = 32;

  PrefillTime prefill_time_;
  double prefill_token_us_ = 0;
  double decode_step_us_ = 0;
  double decode_token_us_ = 0;
  std::deque<int64_t> ends_us_;  // the last kEnds, oldest first
};

struct PlannerLimits {
  int batch_max = 16;          // sequences of one decode step
  int slice_tokens_max = 512;  // rows of one forward pass (Transformer::kRowsUsual)
  // A burst of decode steps ends after about this time, so that text streams smoothly and a cancel
  // or a new request does not wait longer. Giving out a job takes some 0.1 ms.
  int64_t burst_us = 12'000;
  // The most time that prompts get beside decodes, for each microsecond of decoding.
  double prompt_share = 0.9;
  // A long prompt is computed in slices that are this many bursts apart. One of 40 waits between
  // tokens is then a long one, so the 95th percentile of the waits is that of an undisturbed
  // stream, also on a machine that is not quiet.
  int bursts_between_slices = 40;
  // No slice lets running generations wait longer than this.
  int64_t slice_beside_decode_us = 250'000;
  // While several tenants have had work lately, jobs are shorter: the next job may be another
  // tenant's.
  int64_t job_contended_us = 5'000;
  // The same for a prompt whose tenant is owed time: it ends sooner with longer slices.
  int64_t job_contended_owed_us = 10'000;
  // The length of a slice when nothing else runs: it bounds how long a cancel, or another request,
  // has to wait.
  int64_t slice_alone_us = 100'000;
  // The length of a slice of work that nobody waits for.
  int64_t slice_idle_us = 60'000;
  int burst_steps_max = 64;
};

// The time that prompts may take beside decodes. It grows while tokens are sampled.
class PromptBudget {
 public:
  explicit PromptBudget(const PlannerLimits& limits)
      : limits_(limits), budget_us_(static_cast<double>(limits.slice_beside_decode_us)) {}

  // Notes that a burst took `compute_us`.
  void decoded(int64_t compute_us);
  // Notes the time of a slice. May leave a debt, at most one full budget.
  void prefilled(int64_t compute_us);

  double us() const { return budget_us_; }
  // The number of bursts since a prompt was computed.
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
  // The prompt's tenant is below its share and those that decode are above theirs: the prompt
  // need not wait for their decodes.
  bool prompt_is_owed = false;
  std::optional<Prompt> idle_prompt;  // of a retained output, only when there is nothing else to do
  double prompt_budget_us = 0;        // see PromptBudget
  int bursts_since_prompt = 0;        // see PromptBudget
  bool contended = false;             // several tenants have work
  bool last_was_decode = false;
};

struct Plan {
  enum class Kind { kNothing, kDecode, kPrefill, kIdlePrefill } kind = Kind::kNothing;
  int decode_steps = 0;   // the most steps, of up to batch_max sequences
  int64_t slice_end = 0;  // prefill ends before this position
};

// A slice ends at a multiple of 64 tokens or at the prompt's end, and is as long as the time limits
// and the measured speed allow. Beside decodes, the end of a prompt is computed as soon as the
// budget covers it, and a long prompt in slices that are many bursts apart. So short prompts are
// answered at once, and long ones leave the tokens of running generations mostly as close together
// as before. A prompt that is owed its time does not wait for decodes.
Plan plan_next(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits);

}  // namespace cascade
