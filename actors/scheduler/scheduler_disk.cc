// Long prompts are written while they are computed; pages that were read are given to their
// sequences.
#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// A prompt of this length takes longer to compute than anybody wants to wait twice. It is written
// while it is computed, each time that kWritebackStepTokens more tokens are in pages.
constexpr int64_t kCostlyTokens = 1024;
constexpr int64_t kWritebackStepTokens = 512;

}  // namespace

// Has the part of a prompt written that has been computed since the last call, if the prompt takes
// long to compute.
void SchedulerCore::write_prompt_behind(Request& request) {
  const int64_t committed = request.sequence->committed() / kPageTokens * kPageTokens;
  if (committed < kCostlyTokens || !request.params.reuse) return;
  if (!request.written_behind || keep_.uses.has_gone_text(request.texts)) return;
  const bool whole = request.prompt_done();
  if (committed - request.written_tokens < (whole ? 1 : kWritebackStepTokens)) return;
  request.written_tokens = committed;
  keep_.uses.note(request);
  disk_.writer.write_behind(
      tenants_.id(request.client.tenant),
      std::span(request.sequence->tokens()).first(static_cast<size_t>(committed)));
}

void SchedulerCore::write_pages() {
  if (gate_.is_open()) disk_.writer.write_pages([this] { return available_pages(); });
}

// A sequence has got more tokens from disk: that of a request or, with handle 0, that of the first
// re-prefill.
const ChainSequence* SchedulerCore::tokens_loaded(uint64_t handle, std::span<const int32_t> tokens,
                                                  bool more) {
  if (handle == 0) return idle_.loaded(tokens, more);
  Request* request = requests_.find(handle);
  CHECK(request != nullptr);  // a request is in flight while it loads
  ChainSequence& sequence = *request->sequence;
  sequence.commit(tokens, clock_.wall_us());
  const auto count = std::ssize(tokens);
  if (request->resumed.empty()) {
    request->reused_tokens += count;
    request->loaded_tokens += count;
  }
  const int64_t end = sequence.committed();
  count_reused(end - count, end, 0);
  const bool ending = request->pending_error || !request->pending_finish.empty();
  if (more && !ending) return &sequence;
  request->loading = false;
  if (request->pending_error) {
    fail(*request, *request->pending_error);
  } else if (!request->pending_finish.empty()) {
    finish(*request, request->pending_finish);
  } else {
    if (request->resumed.empty()) request->miss = explain_miss(*request);
    if (request->params.stream) send_progress(*request);
  }
  return nullptr;
}

void SchedulerCore::on(wire::StoredPages&& stored) {
  disk_.stored.load(stored);
  keep_.uses.load(stored);
  if (!stored.more) end_loading();
}

}  // namespace cascade
