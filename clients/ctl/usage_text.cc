// Says reasons in words; a text that was never there before needs no reason.
#include "clients/ctl/usage_text.h"

#include "base/counted.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

const char* reason_text(MissReason reason) {
  switch (reason) {
    case MissReason::kNone: return "";
    case MissReason::kNew: return "";
    case MissReason::kDiffers: return "differs from what is known";
    case MissReason::kEvicted: return "was evicted";
    case MissReason::kDropped: return "was removed, since no request seemed able to reach it";
    case MissReason::kDeleted: return "was deleted";
    case MissReason::kExpired: return "has expired";
    case MissReason::kOtherModel: return "is of another model or KV type";
    case MissReason::kNoState: return "has no state to go on from";
    case MissReason::kReuseOff: return "reuse is off";
  }
  return "";
}

std::string miss_text(const Miss& miss) {
  const std::string reason = reason_text(miss.reason);
  if (reason.empty()) return "";
  return " (from token " + std::to_string(miss.position) + " on: " + reason + ")";
}

// "the oldest turn", "the oldest 2 turns".
std::string oldest(int64_t count, const std::string& one) {
  return "the oldest " + (count == 1 ? one : counted(count, one));
}

}  // namespace

std::string left_out_text(const LeftOut& left_out) {
  std::string text;
  if (left_out.turns > 0) text = oldest(left_out.turns, "turn");
  if (left_out.steps == 0) return text;
  if (!text.empty()) text += ", and ";
  return text + oldest(left_out.steps, "step") + " of the next turn";
}

std::string retrieved_text(const std::vector<Retrieved>& retrieved) {
  int64_t tokens = 0;
  for (const Retrieved& part : retrieved) tokens += part.tokens;
  return "parts of " + counted(std::ssize(retrieved), "turn") + ", " + counted(tokens, "token");
}

std::string summarised_text(const Summarised& summarised) {
  const size_t count = summarised.chunk_ids.size();
  if (count == 0) return counted(summarised.turns, "turn");
  return counted(summarised.turns, "turn") + " in " +
         (count == 1 ? "1 summary" : std::to_string(count) + " summaries");
}

std::string usage_text(const client::Generation& generation, bool finish) {
  const wire::Usage& usage = generation.usage;
  const std::string loaded = usage.loaded_tokens > 0
                                 ? " (" + std::to_string(usage.loaded_tokens) + " read from disk)"
                                 : "";
  std::string text = counted(usage.reused_tokens, "token") + " reused" + loaded + ", " +
                     std::to_string(usage.prefilled_tokens) + " prefilled" + miss_text(usage.miss) +
                     ", " + std::to_string(usage.completion_tokens) + " generated, " +
                     format_duration(generation.timings.total_us);
  if (!generation.attention.empty() && generation.attention != "dense") {
    text += ", attention " + generation.attention;
    if (usage.selected_tokens > 0) {
      text += " (" + counted(usage.selected_tokens, "token") + " selected pages)";
    }
    if (usage.drafted_tokens > 0) {
      text += " (" + std::to_string(usage.accepted_tokens) + " of " +
              counted(usage.drafted_tokens, "draft") + " right)";
    }
  }
  if (generation.approximation != Approximation::kNone) {
    text += ", approximate: " + counted(usage.approximate_tokens, "token") + " by " +
            std::string(to_string(generation.approximation));
  }
  if (generation.left_out) text += ", left out: " + left_out_text(*generation.left_out);
  if (!generation.retrieved.empty()) {
    text += ", brought back: " + retrieved_text(generation.retrieved);
  }
  if (generation.summarised) text += ", summarised: " + summarised_text(*generation.summarised);
  if (finish) text += ", " + generation.finish_reason;
  return text;
}

}  // namespace cascade::ctl
