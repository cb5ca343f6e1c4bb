// One sequence of a decode job while the job runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/engine.h"
#include "actors/job_pages.h"
#include "actors/job_state_slots.h"
#include "model/grammar/output_constraint.h"
#include "model/sampler.h"
#include "model/slice.h"
#include "model/token_history.h"

namespace cascade {

// Without drafts, each pass feeds one token and samples the next one. With drafts
// (wire::DecodeSequence::drafts), passes make a *round*: some passes feed one token each with
// selection, and sample a draft of the next one; then one pass feeds the first token and all drafts
// densely, and samples after each of them. The samples count as far as they agree with the drafts,
// and one further. K and V of the dense pass replace those of the drafts, so all that remains is
// what a burst without drafts would have left. A draft is sampled as the token at its position will
// be, with the same random numbers. This is speculative decoding (Leviathan et al. 2023) in which
// the model drafts for itself.
//
// begin() and take() of different sequences may run on different threads. All other functions
// belong to the engine's thread, while none of those runs.
class BurstSequence {
 public:
  // `engine` and `job` outlive this. `alone`: it is the only sequence of its job. If the grammar
  // cannot be used, the sequence is done.
  BurstSequence(Engine& engine, const wire::DecodeSequence& job, bool alone);
  BurstSequence(const BurstSequence&) = delete;
  BurstSequence& operator=(const BurstSequence&) = delete;

  // Sets up the state that depends on the tokens so far; call it before anything else. Takes half a
  // millisecond for penalties that look at 16,384 tokens, of which 8,192 are distinct.
  void begin();

  // Whether the sequence has an error, or all its tokens.
  bool is_done() const;
  // Whether a round has drafts that are not checked yet.
  bool has_drafts() const { return fed_.size() > 1; }
  // Whether the next pass makes a draft.
  bool is_drafting() const { return static_cast<int>(fed_.size()) <= drafts_wanted_; }

  // What the next pass computes. Valid until take().
  Slice slice();
  // The slice's number of outputs.
  int rows() const { return is_drafting() ? 1 : static_cast<int>(fed_.size()); }
  // Takes the logits [rows(), vocab_size] of the pass; changes them.
  void take(std::span<float> logits);
  // After a failed pass: ends the sequence if one of its pages could not be read. Returns whether
  // it did.
  bool end_if_unread();

  // Whether the time of the last pass says what passes of drafts and their checks take: it fed a
  // token that may be drafted, and made no index.
  bool is_typical() const { return is_typical_; }

  // The result so far. Call it once, at the end: the engine's DraftPace learns how drafts fared.
  wire::DecodedSequence finish();

 private:
  bool is_end_token(int32_t token) const;
  void plan_round();
  void take_draft(std::span<float> logits);
  void end_drafting();
  void take_checked(std::span<float> logits);
  void keep(const Sampled& sampled);

  Engine& engine_;
  const wire::DecodeSequence& job_;
  const bool alone_;
  JobPages pages_;
  int64_t* const indexed_pages_;  // nullptr: nothing selects, or a page is not in memory
  JobStateSlots states_;
  const SamplerParams params_;
  TokenHistory history_;  // grows with every token
  std::shared_ptr<SharedGrammar> grammar_;
  std::optional<OutputConstraint> constraint_;  // advances with every token, too
  int64_t position_;                            // of the first token of fed_
  std::vector<int32_t> fed_;                    // the next token to feed, and the drafts after it
  int drafts_wanted_ = 0;                       // of this round
  std::optional<OutputConstraint> draft_constraint_;  // the constraint after the drafts
  std::vector<bool> new_in_history_;                  // of each draft
  bool is_typical_ = false;
  int64_t indexed_before_ = 0;  // the pages with an index before the last pass
  int64_t rejected_ = 0;        // rounds that ended at a wrong draft
  wire::DecodedSequence result_;
};

}  // namespace cascade
