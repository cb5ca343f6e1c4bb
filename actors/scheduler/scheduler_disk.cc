// Long prompts are written while they are computed; pages that were read are given to their
// sequences; lost pages are computed again.
#include "actors/scheduler/compute_jobs.h"
#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// A prompt of this length takes longer to compute than anybody wants to wait twice. It is written
// while it is computed, each time that kWritebackStepTokens more tokens are in pages.
constexpr int64_t kCostlyTokens = 1024;
constexpr int64_t kWritebackStepTokens = 512;

}  // namespace

// Has the part of a prompt written that has been computed since the last call, if the prompt takes
// long to compute. A reader needs all its pages on disk, also those of its answer.
void SchedulerCore::write_prompt_behind(Request& request) {
  const int64_t committed = request.sequence->committed() / kPageTokens * kPageTokens;
  if (!request.reader && (committed < kCostlyTokens || !request.params.reuse)) return;
  if (keep_.uses.has_gone_text(request.texts)) request.written_behind = false;
  if (!request.written_behind) return;
  const bool whole = request.prompt_done();
  const int64_t step = request.reader || whole ? 1 : kWritebackStepTokens;
  if (committed - request.written_tokens < step) return;
  request.written_tokens = committed;
  keep_.uses.note(request);
  const TenantId owner = tenants_.id(request.client.tenant, request.attention);
  const auto chain = std::span(request.sequence->tokens()).first(static_cast<size_t>(committed));
  request.reader ? disk_.writer.write_growing(owner, chain)
                 : disk_.writer.write_behind(owner, chain);
}

void SchedulerCore::write_pages() {
  disk_.spills.lease_more();
  if (!gate_.is_open()) return;
  disk_.writer.write_pages([this] { return available_pages(); });
  disk_.states.write_next();
}

// A sequence has got more tokens from disk: that of a restore, that of a request or, with handle 0,
// that of the first re-prefill.
bool SchedulerCore::tokens_loaded(uint64_t handle, std::span<const int32_t> tokens, bool more) {
  if (disk_.restores.has(handle)) return disk_.restores.loaded(handle, tokens, more);
  if (handle == 0) return idle_.loaded(tokens, more);
  Request* request = requests_.find(handle);
  CHECK(request != nullptr);  // a request is in flight while it loads
  request->sequence->commit(tokens, clock_.wall_us());
  return load_advanced(*request, std::ssize(tokens), more);
}

// The sequence of a request has `count` more tokens from disk. Returns whether to go on with the
// rest of the load; false if there is none, or if the request has ended.
bool SchedulerCore::load_advanced(Request& request, int64_t count, bool more) {
  if (request.resumed.empty()) {
    request.reused_tokens += count;
    request.loaded_tokens += count;
  }
  const int64_t end = request.sequence->committed();
  counters_.count_reused(end - count, end, 0,
                         attention_work(request.attention, model_.config.layers, end - count, end));
  const bool ending = request.pending_error || !request.pending_finish.empty();
  if (more && !ending) return true;
  request.loading = false;
  if (end_if_pending(request)) return false;
  // If a page could not be read, the rest of a load is not. A reader needs that memory elsewhere.
  if (request.reader) request.sequence->unreserve();
  // What memory has no room for stays on disk.
  request.loading = request.reader && !disk_.spills.error() && disk_.spills.adopt_more(request);
  if (request.loading) return false;
  if (request.resumed.empty()) request.miss = explain_miss(request);
  if (request.params.stream) send_progress(request);
  return false;
}

// Computes a lost page of a reader again. False if there is none, or no room for it now.
bool SchedulerCore::dispatch_repair() {
  const auto lost =
      disk_.spills.next_lost([this](const Request& request) { return in_flight(request); });
  if (!lost) return false;
  ChainSequence& sequence = *lost->reader->sequence;
  if (!disk_.spills.reserve_indexes(*lost->reader, sequence.committed())) return false;
  const auto memory = sequence.reserve_lost(lost->page);
  if (!memory) return false;
  sequence.refresh();
  wire::PrefillJob job;
  job.job = jobs_.next();
  job.position = static_cast<int64_t>(lost->page) * kPageTokens;
  const auto tokens = std::span(sequence.tokens()).subspan(lost->page * kPageTokens, kPageTokens);
  job.token_ids.assign(tokens.begin(), tokens.end());
  put_pages(sequence, job);
  job.pages.resize(lost->page);
  job.pages.push_back(*memory);
  job.attention = lost->reader->attention;
  const int64_t depth = depth_of(job, model_.config.layers);
  compute_.slices.put(
      job.job,
      {{lost->reader->handle}, false, job.token_ids, depth, InFlight::Repair{lost->page, *memory}});
  outbox_.send(Actor::kPrefill, std::move(job));
  return true;
}

// A lost page was computed again, or could not be.
void SchedulerCore::page_repaired(Request& request, const InFlight::Repair& repair,
                                  const wire::PrefillDone& done) {
  if (done.error || done.lost_page) {
    request.sequence->give_back(repair.memory);
    if (done.lost_page) disk_.spills.lose(request, *done.lost_page);
    if (done.error) return fail(request, *done.error);
  } else {
    request.sequence->restore(repair.page, repair.memory, clock_.wall_us());
    request.written_tokens = 0;  // the page is written again
    write_prompt_behind(request);
  }
  (void)end_if_pending(request);
}

// A job that worked on the request has ended. True if the request was to end with it, and has.
bool SchedulerCore::end_if_pending(Request& request) {
  if (request.pending_error) {
    fail(request, *request.pending_error);
    return true;
  }
  if (request.pending_finish.empty()) return false;
  finish(request, request.pending_finish);
  return true;
}

void SchedulerCore::on(wire::StoredPages&& stored) {
  disk_.stored.load(stored);
  disk_.states.load(stored);
  keep_.uses.load(stored);
  // A delete looks for a chunk's pages in the chains of all owners.
  for (const wire::ChainOwner& owner : stored.chain_owners)
    tenants_.id(owner.tenant, owner.attention);
  if (!stored.more) end_loading();
}

}  // namespace cascade
