// The expected number of tokens of a round, divided by its cost.
#include "model/draft_length.h"

namespace cascade {
namespace {

// How much a round still counts after the next one: the last 25 or so decide.
constexpr double kRoundFades = 0.96;
// The number of drafts that the expected share counts for.
constexpr double kExpectedWeight = 4;
// Drafts that promise less than this, relative to a dense step, are not worth their uncertainty.
constexpr double kGainMin = 1.05;
// A draft after so many tokens without any costs at most 4 % of their time.
constexpr int32_t kUndraftedMax = 24;

}  // namespace

int draft_length(const DraftRecord& record, double expected, const DraftCosts& costs, int most) {
  const double right = (record.accepted + kExpectedWeight * expected) /
                       (record.accepted + record.rejected + kExpectedWeight);
  const double each = costs.draft + costs.check_row;
  int best = 0;
  double best_rate = kGainMin;  // tokens in the time of a dense step
  double tokens = 1, likely = 1, cost = 1;
  for (int drafts = 1; drafts <= most; ++drafts) {
    likely *= right;
    tokens += likely;
    cost += each;
    if (tokens / cost <= best_rate) continue;
    best = drafts;
    best_rate = tokens / cost;
  }
  const bool may_pay = most > 0 && each < 1;
  if (best == 0 && may_pay && record.undrafted >= kUndraftedMax) return 1;
  return best;
}

void note_round(DraftRecord& record, int drafted, int accepted) {
  if (drafted == 0) {
    ++record.undrafted;
    return;
  }
  record.undrafted = 0;
  record.accepted = record.accepted * kRoundFades + accepted;
  record.rejected = record.rejected * kRoundFades + (accepted < drafted ? 1 : 0);
}

}  // namespace cascade
