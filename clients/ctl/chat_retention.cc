// Asks at the end of a conversation what to keep.
#include "clients/ctl/chat_retention.h"

#include <algorithm>

#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

// The time to live of outputs that nobody has decided about: enough for a pause in a conversation,
// and no more than that.
constexpr int64_t kUndecidedMs = 24 * 3'600'000;

std::string outputs(size_t count) {
  return std::to_string(count) + (count == 1 ? " output" : " outputs");
}

// Gives up as many retentions as the conversation made. Returns whether the output was deleted.
Result<bool> give_up(client::Client& client, const std::string& id, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    client::ChunkChange change;
    RETURN_IF_ERROR(client.delete_chunk(id, "", /*all=*/false, &change));
    if (change.gone) return true;
  }
  return false;
}

// The first of the two errors; success if there was none.
Status first_error(Status before, Status now) {
  return before.ok() ? now : before;
}

}  // namespace

ChatRetention::ChatRetention(client::Client& client, Screen& screen, Retain retain,
                             std::optional<int64_t> ttl_ms, Ask ask)
    : client_(client), screen_(screen), retain_(retain), ttl_ms_(ttl_ms), ask_(std::move(ask)) {}

void ChatRetention::apply(wire::GenerateRequest& request) const {
  request.retain_output = retain_ != Retain::kNever;
  request.output_ttl_ms = ttl_ms_;
  if (retain_ == Retain::kAsk) {
    request.output_ttl_ms = std::min(ttl_ms_.value_or(kUndecidedMs), kUndecidedMs);
  }
}

void ChatRetention::made(const std::string& id) {
  if (retain_ == Retain::kAsk) ++made_[id];
}

void ChatRetention::deleted(const std::string& id) {
  made_.erase(id);
}

Status ChatRetention::end_conversation() {
  if (made_.empty()) return {};
  const std::string count = outputs(made_.size());
  say("This conversation made " + count + ".");
  std::optional<std::string> answer;
  for (bool asking = true; asking;) {
    answer = ask_("Keep what it made? [y/n] ");
    asking = answer && *answer != "y" && *answer != "yes" && *answer != "n" && *answer != "no";
  }
  Status done;
  if (!answer) {
    say("No answer: " + count + " will expire within " +
        format_ttl(std::min(ttl_ms_.value_or(kUndecidedMs), kUndecidedMs)) + ".");
  } else if (answer->front() == 'y') {
    done = keep();
  } else {
    done = remove();
  }
  made_.clear();
  return done;
}

// Gives the outputs the time to live of outputs that are kept without a question.
Status ChatRetention::keep() {
  int64_t ttl_ms = ttl_ms_.value_or(0);
  if (!ttl_ms_) {
    ASSIGN_OR_RETURN(const std::vector<wire::ExpiryPolicy> policies, client_.expiry_policies());
    const auto policy = std::ranges::find(policies, ChunkType::kOutput, &wire::ExpiryPolicy::type);
    if (policy != policies.end()) ttl_ms = policy->ttl_ms;
  }
  Status done;
  size_t kept = 0;
  for (const auto& [id, times] : made_) {
    const Result<Chunk> chunk = client_.set_chunk_ttl(id, ttl_ms);
    if (chunk.ok()) ++kept;
    done = first_error(done, chunk.ok() ? Status() : Status(chunk.error()));
  }
  say("kept " + outputs(kept) + (ttl_ms > 0 ? " for " + format_ttl(ttl_ms) : ""));
  return done;
}

Status ChatRetention::remove() {
  Status done;
  size_t removed = 0;
  size_t elsewhere = 0;
  for (const auto& [id, times] : made_) {
    const Result<Chunk> chunk = client_.get_chunk(id);
    if (!chunk.ok() && chunk.error().code == ErrorCode::kNotFound) continue;
    // An equal answer that was kept elsewhere has the same id.
    if (chunk.ok() && chunk->registrations > times) {
      ++elsewhere;
      continue;
    }
    const Result<bool> gone =
        chunk.ok() ? give_up(client_, id, times) : Result<bool>(chunk.error());
    if (gone.ok()) ++(*gone ? removed : elsewhere);
    done = first_error(done, gone.ok() ? Status() : Status(gone.error()));
  }
  const std::string stay = outputs(elsewhere) + (elsewhere == 1 ? " stays" : " stay");
  say("deleted " + outputs(removed) + (elsewhere > 0 ? "; " + stay + ": kept elsewhere, too" : ""));
  return done;
}

void ChatRetention::say(const std::string& text) {
  const std::string lines = wrapped(one_line(text), screen_.style.columns());
  screen_.out << screen_.style.dim(lines) << std::endl;
}

}  // namespace cascade::ctl
