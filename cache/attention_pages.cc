// What a window hides, in pages.
#include "cache/attention_pages.h"

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

}  // namespace

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

int64_t seen_tokens(const AttentionMode& mode, int64_t position) {
  if (mode.window == 0) return position;
  return std::min<int64_t>(position, int64_t{mode.window} + mode.sinks);
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
