// Running means of measured times.
#include "model/draft_pace.h"

#include <algorithm>

#include "cache/attention_pages.h"
#include "kernels/kernels.h"
#include "model/attention_mode.h"
#include "model/page_choice.h"

namespace cascade {
namespace {

// A new measurement has a weight of a quarter: machines are noisy.
constexpr double kNewWeight = 0.25;
// Until they are measured: selected pages are read more slowly than all pages, since they lie
// apart.
constexpr double kDraftByteCost = 1.5;
// After so many checks, a dense step is measured again. It costs at most 1 % of their time.
constexpr int kChecksMax = 32;
// After so many dense steps, a check is measured again: drafts may pay by now.
constexpr int kDenseStepsMax = 200;

// How much the drafts of a burst still count after the next one: some twenty bursts decide.
constexpr double kBurstFades = 0.95;

void blend(double& mean, double measured) {
  mean = mean == 0 ? measured : mean + kNewWeight * (measured - mean);
}

}  // namespace

int DraftPace::drafts(const DraftRecord& record, const AttentionMode& drafts, int64_t position,
                      bool alone) const {
  if (!selects_somewhere(drafts, position, config_, config_.layers)) return 0;
  if (fixed_ >= 0) return fixed_;
  if (alone && (dense_us_ == 0 || checks_ >= kChecksMax)) return 0;
  // The rows of a check that read K and V once, but enough of them to be worth a check.
  const int heads = config_.query_heads / config_.kv_heads_max();
  const int rows = std::clamp(kAttentionRowsMax / heads, 4, kDraftsMax + 1);
  const double expected = accepted_ / (accepted_ + rejected_);
  const int length = draft_length(record, expected, costs(drafts, position), rows - 1);
  return alone && dense_steps_ >= kDenseStepsMax ? std::max(length, 1) : length;
}

void DraftPace::note(const AttentionMode& mode, int rows, int64_t position, int64_t us) {
  const double measured = static_cast<double>(us) / bytes(mode, position);
  if (selects_somewhere(mode, position, config_, config_.layers)) {
    if (rows == 1) blend(draft_us_, measured);
  } else if (!mode.is_dense()) {
    return;
  } else if (rows == 1) {
    blend(dense_us_, measured);
    checks_ = 0;
    ++dense_steps_;
  } else if (dense_us_ > 0 && rows <= kDraftsMax + 1) {
    ++checks_;
    dense_steps_ = 0;
    const double row = (measured / dense_us_ - 1) / (rows - 1);
    check_row_ += kNewWeight * (std::clamp(row, 0.0, 1.0) - check_row_);
  }
}

void DraftPace::note_drafts(int64_t accepted, int64_t rejected) {
  if (accepted + rejected == 0) return;
  accepted_ = accepted_ * kBurstFades + static_cast<double>(accepted);
  rejected_ = rejected_ * kBurstFades + static_cast<double>(rejected);
}

DraftCosts DraftPace::costs(const AttentionMode& drafts, int64_t position) const {
  const double known = dense_us_ > 0 && draft_us_ > 0 ? draft_us_ / dense_us_ : kDraftByteCost;
  return {.draft = known * bytes(drafts, position) / bytes({}, position), .check_row = check_row_};
}

// What a step reads: the weights, K and V of the tokens that it sees, and the indexes of the pages
// from which it chooses.
double DraftPace::bytes(const AttentionMode& mode, int64_t position) const {
  auto all = static_cast<double>(weight_bytes_);
  for (int layer = 0; layer < config_.layers; ++layer) {
    if (config_.recurrent.is_recurrent(layer)) continue;
    const auto number = static_cast<size_t>(layer);
    const AttentionMode of_layer = selecting_mode(mode, layer, config_.window[number]);
    const KvPartLayout& part = layout_.parts[config_.attention_shape(layer).kv_part];
    const double token_bytes = static_cast<double>(part.bytes()) / kPageTokens;
    all += static_cast<double>(keys_seen(of_layer, position)) * token_bytes;
    if (!selects(of_layer, position)) continue;
    const PageRange candidates = select_candidates(position);
    all += static_cast<double>(candidates.end - candidates.begin) *
           static_cast<double>(part.indexes_bytes());
  }
  return all;
}

}  // namespace cascade
