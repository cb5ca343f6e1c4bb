// What a window hides and what a selection may see, in pages; the work of both.
#include "cache/attention_pages.h"

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

// Choosing costs less than seeing: a page's index has four mean keys, instead of 64 keys and as
// many values.
constexpr double kChoiceTokens = 2;

// The first position with twice as many candidates as a token may choose.
int64_t first_selecting(const AttentionMode& mode) {
  const int64_t others = kSelectSinkPages + kSelectRecentPages - 1;
  return (others + 2 * int64_t{mode.selected / kPageTokens}) * kPageTokens;
}

}  // namespace

double sum_of_positions(int64_t begin, int64_t end) {
  const auto count = static_cast<double>(end - begin);
  return count * (static_cast<double>(begin) + static_cast<double>(end) - 1) / 2;
}

PageRange unseen_pages(const AttentionMode& mode, int64_t position) {
  if (mode.window == 0) return {};
  const int64_t first_key = std::max<int64_t>(0, position + 1 - mode.window);
  return {pages_for(mode.sinks), first_key / kPageTokens};
}

PageRange unseen_behind(const AttentionMode& mode, int64_t tokens) {
  return unseen_pages(mode, tokens / kPageTokens * kPageTokens);
}

int64_t first_page_seen_to_end(const AttentionMode& mode, int64_t tokens) {
  const PageRange unseen = unseen_behind(mode, tokens);
  return unseen.begin < unseen.end ? unseen.end : 0;
}

PageRange select_candidates(int64_t position) {
  return {kSelectSinkPages, position / kPageTokens - kSelectRecentPages + 1};
}

bool selects(const AttentionMode& mode, int64_t position) {
  return mode.selected > 0 && position >= first_selecting(mode);
}

int64_t keys_seen(const AttentionMode& mode, int64_t position) {
  if (mode.window > 0) {
    return std::min<int64_t>(position + 1, int64_t{mode.window} + mode.sinks);
  }
  if (!selects(mode, position)) return position + 1;
  const int64_t own = position % kPageTokens + 1;
  return mode.selected + (kSelectSinkPages + kSelectRecentPages - 1) * kPageTokens + own;
}

double attention_work(const AttentionMode& mode, int layers, int64_t begin, int64_t end) {
  int64_t same = end;   // from this position on, every token sees equally many
  int64_t seen = 0;     // of these tokens
  double choosing = 0;  // the work of choosing among the tokens before, for each of them
  double dense_share = 0;
  if (mode.window > 0) {
    seen = int64_t{mode.window} + mode.sinks;
    same = seen;
  } else if (mode.selected > 0) {
    seen = mode.selected + (kSelectSinkPages + kSelectRecentPages) * kPageTokens;
    same = first_selecting(mode);
    choosing = kChoiceTokens / kPageTokens;
    dense_share = static_cast<double>(std::min(mode.dense_layers, layers)) / layers;
  }
  same = std::clamp(same, begin, end);
  const double later = static_cast<double>(end - same) * static_cast<double>(seen) +
                       choosing * sum_of_positions(same, end);
  return sum_of_positions(begin, same) + (1 - dense_share) * later +
         dense_share * sum_of_positions(same, end);
}

int64_t working_pages(const AttentionMode& mode, int64_t tokens, int64_t slice) {
  if (mode.window == 0) return pages_for(tokens);
  // The slice may begin and end within a page, and so may the window of the whole page before it.
  const int64_t seen = pages_for(mode.sinks) + pages_for(int64_t{mode.window} + slice) + 2;
  return std::min(pages_for(tokens), seen);
}

int64_t end_pages(const AttentionMode& mode, int64_t tokens) {
  const PageRange unseen = unseen_behind(mode, tokens);
  return pages_for(tokens) - std::max<int64_t>(0, unseen.end - unseen.begin);
}

}  // namespace cascade
