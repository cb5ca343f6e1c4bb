// Pages between memory and disk: what is written behind, what is read instead of computed, what
// goes with its chunk.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

constexpr size_t kPagesLoadedAtOnceMax = 128;

// Computing a prompt as long as this takes longer than anybody wants to wait twice: it is written
// while it is computed, whenever so many tokens more are in pages.
constexpr int64_t kCostlyTokens = 1024;
constexpr int64_t kWritebackStepTokens = 512;

// What a load costs besides its bytes, and what the disk gives before that was measured.
constexpr double kLoadOverheadUs = 500;
constexpr double kBytesPerUsGuess = 500;
constexpr double kNewSpeedWeight = 0.25;

std::string hex(const Digest& key) {
  return key.hex();
}

}  // namespace

// ---- Writing ------------------------------------------------------------------------------------

// Of a prompt that took long to compute, what is new since the last time.
void SchedulerCore::write_prompt_behind(Request& request) {
  const int64_t committed = request.sequence->committed() / kPageTokens * kPageTokens;
  if (committed < kCostlyTokens || !request.params.reuse) return;
  if (!request.written_behind || has_gone_text(request)) return;
  const bool whole = request.prompt_done();
  if (committed - request.written_tokens < (whole ? 1 : kWritebackStepTokens)) return;
  request.written_tokens = committed;
  note_uses(request);
  writer_.write_behind(tenants_.id(request.client.tenant),
                       std::span(request.sequence->tokens()).first(static_cast<size_t>(committed)));
}

PageWriter::Callbacks SchedulerCore::writer_callbacks() {
  return {
      .is_awaited =
          [this](const StoredName& chunk) {
            return std::ranges::find(pin_replies_, chunk, &PinReply::chunk) != pin_replies_.end();
          },
      .uses_of = [this](const NamedPage& page) { return uses_of(page); },
      .written = [this](const Digest& end) { chains_.note_written(end); },
      .chains_ended = [this] { answer_pins(); },
      .failed = [this](const Error& error,
                       const std::optional<StoredName>& chunk) { refuse_pins(error, chunk); },
      .ended = [this](const Writing& writing) { end_writing(writing); },
  };
}

void SchedulerCore::write_pages() {
  if (loaded_) writer_.write_pages([this] { return available_pages(); });
}

// What was deleted while it was being written goes now.
void SchedulerCore::end_writing(const Writing& ended) {
  for (const Writing::End& end : ended.ends) {
    if (end.owner == kPublic) {
      drop_public(end.chain, end.keep, end.why);
      continue;
    }
    index_.drop_subtree(end.owner, ended.chain, end.keep, end.why);
    drop_stored(end.owner, ended.chain, end.keep);
  }
  for (const StoredName& chunk : ended.erased) end_erasure_piece(chunk);
}

// ---- Reading ------------------------------------------------------------------------------------

// Reads `stored` behind what the sequence was started with, the whole pages that are in memory.
// False if there is nothing to read, or no room.
bool SchedulerCore::start_load(ChainSequence& sequence, uint64_t handle,
                               std::span<const int32_t> wanted, const DiskIndex::Match& stored) {
  const int64_t begin = sequence.committed();
  if (stored.tokens == 0 || !sequence.reserve(begin + stored.tokens)) return false;
  Load load;
  load.handle = handle;
  load.keys = stored.keys;
  load.tokens.assign(wanted.begin() + begin, wanted.begin() + begin + stored.tokens);
  load_ahead(std::move(load), sequence);
  return true;
}

// What is on disk of `wanted` behind the whole pages in memory, if reading it is quicker than
// computing it.
DiskIndex::Match SchedulerCore::worth_loading(TenantId owner, std::span<const int32_t> wanted,
                                              const ChainIndex::Match& found) const {
  if (stored_.disk().size() == 0) return {};
  const auto begin = found.pages.size() * kPageTokens;
  DiskIndex::Match stored =
      stored_.disk().match(ChainIndex::key_of(found.node),
                           index_.tenant_key_behind(found.node, owner), wanted.subspan(begin));
  const double bytes = static_cast<double>(stored.keys.size() * arena_.page_bytes());
  const double load_us =
      kLoadOverheadUs + bytes / (load_bytes_per_us_ > 0 ? load_bytes_per_us_ : kBytesPerUsGuess);
  const double tokens = static_cast<double>(stored.tokens - found.partial_tokens);
  const double token_us = speed_.prefill_token_us();
  const bool quicker = token_us <= 0 || load_us < tokens * token_us;
  return tokens > 0 && quicker ? stored : DiskIndex::Match();
}

// Sends for the next pages of a load.
void SchedulerCore::load_ahead(Load&& load, const ChainSequence& sequence) {
  wire::LoadPages message;
  message.job = jobs_.next();
  const auto first_page = static_cast<size_t>(sequence.committed()) / kPageTokens;
  const size_t count = std::min(kPagesLoadedAtOnceMax, load.keys.size() - load.done);
  for (size_t i = 0; i < count; ++i) {
    const auto begin = load.tokens.begin() + static_cast<ptrdiff_t>((load.done + i) * kPageTokens);
    const auto left = load.tokens.end() - begin;
    message.pages.push_back({hex(load.keys[load.done + i]),
                             {begin, begin + std::min<ptrdiff_t>(kPageTokens, left)},
                             sequence.pages()[first_page + i]});
  }
  load.asked = count;
  loads_.put(message.job, std::move(load));
  outbox_.send(Actor::kStore, std::move(message));
}

void SchedulerCore::on(wire::LoadPagesDone&& done) {
  std::optional<Load> answered = loads_.take(done.job);
  if (!answered) return;  // of an earlier incarnation of the store
  Load& load = *answered;
  const auto good = static_cast<size_t>(done.good);
  stored_.count_loaded(done.good);
  if (done.good > 0) {
    const double bytes = static_cast<double>(good * arena_.page_bytes());
    const double speed = bytes / static_cast<double>(std::max<int64_t>(1, done.load_us));
    load_bytes_per_us_ = load_bytes_per_us_ <= 0
                             ? speed
                             : load_bytes_per_us_ * (1 - kNewSpeedWeight) + speed * kNewSpeedWeight;
  }
  if (good < load.asked) {
    if (done.error) spdlog::warn("a page is computed again: {}", done.error->to_string());
    if (done.error && done.error->code == ErrorCode::kDataCorrupt) stored_.count_bad();
    stored_.forget(load.keys[load.done + good]);
  }
  loaded_pages(std::move(load), good);
}

// So many pages more are in memory. Those that are left are asked for, or computed.
void SchedulerCore::loaded_pages(Load&& load, size_t good) {
  Request* request = load.handle == 0 ? nullptr : requests_.find(load.handle);
  CHECK((load.handle == 0) == (request == nullptr));  // it is in flight until then
  ChainSequence& sequence = request != nullptr ? *request->sequence : *reprefills_.front().sequence;
  const auto begin = load.tokens.begin() + static_cast<ptrdiff_t>(load.done * kPageTokens);
  const auto count =
      std::min<ptrdiff_t>(static_cast<ptrdiff_t>(good) * kPageTokens, load.tokens.end() - begin);
  sequence.commit({begin, begin + count}, clock_.wall_us());
  const bool more = good == load.asked && load.done + good < load.keys.size();
  load.done += good;
  if (request == nullptr) {
    idle_loading_ = more && !idle_is_gone();
    if (idle_loading_) return load_ahead(std::move(load), sequence);
    if (idle_is_gone()) finish_idle(/*complete=*/false);
    return;
  }
  if (request->resumed.empty()) {
    request->reused_tokens += count;
    request->loaded_tokens += count;
  }
  const int64_t end = sequence.committed();
  count_reused(end - count, end, 0);
  const bool ending = request->pending_error || !request->pending_finish.empty();
  if (more && !ending) return load_ahead(std::move(load), sequence);
  request->loading = false;
  if (request->pending_error) return fail(*request, *request->pending_error);
  if (!request->pending_finish.empty()) return finish(*request, request->pending_finish);
  if (request->resumed.empty()) request->miss = explain_miss(*request);
  if (request->params.stream) send_progress(*request);
}

// The store was restarted: nobody writes to the pages of its loads any more.
void SchedulerCore::lost(std::map<uint64_t, Load>&& jobs) {
  for (auto& [number, load] : jobs) loaded_pages(std::move(load), 0);
}

// ---- What goes ----------------------------------------------------------------------------------

void SchedulerCore::on(const wire::PagesForgotten& forgotten) {
  for (const std::string& key : forgotten.keys) {
    const auto page = Digest::from_hex(key);
    if (!page) continue;
    if (stored_.disk().contains(*page)) {
      if (!forgotten.deleted) stored_.count_bad();
      stored_.forget(*page);
    }
    ChainIndex::Node* node = forgotten.deleted ? index_.find(*page) : nullptr;
    if (node != nullptr) {
      forget_use(node, {*page, ChainIndex::name_of(node).position, 1}, Removal::kDeleted);
    }
  }
  // The pages of pins are written again at once.
  if (forgotten.deleted) heal_text_pins();
}

// What is on disk of the chain behind its first `keep` tokens, as end_branch() does it in memory.
void SchedulerCore::drop_stored(TenantId owner, std::span<const int32_t> chain, int64_t keep,
                                const StoredName* erased) {
  writer_.end_when_written(owner, chain, keep, Removal::kDeleted);
  if (stored_.disk().size() == 0) return;
  const std::vector<Digest> path = stored_.path_of(owner, chain);
  for (size_t i = static_cast<size_t>(keep / kPageTokens); i < path.size(); ++i) {
    stored_.remove_from(path[i], erased);
  }
}

// The same of a chunk whose tokens are not known: a page knows the one before it. What is in memory
// of it goes when the tokens have been read.
void SchedulerCore::drop_stored_chunk(const Chunk& chunk, Removal why) {
  const StoredName name = {chunk.tenant, chunk.id};
  chains_.read({name, chunk.kv_key, why, chunk.kv_begin});
  const auto end = Digest::from_hex(chunk.kv_key);
  if (!end) return;
  std::vector<DiskIndex::Step> path = stored_.disk().path(*end);
  std::ranges::reverse(path);
  std::vector<Digest> keys;
  for (const DiskIndex::Step& step : path) keys.push_back(step.key);
  for (size_t i = static_cast<size_t>(chunk.kv_begin / kPageTokens); i < keys.size(); ++i) {
    stored_.remove_from(keys[i], &name);
  }
  stored_.remove_unshared(keys, &name);
}

// ---- Chunks -------------------------------------------------------------------------------------

// Chunks are used: of their chains, what is not in memory will be wanted soon. Turns of one
// conversation have most of their pages in common.
void SchedulerCore::prefetch(const std::vector<const ChunkEntry*>& used) {
  std::set<Digest> wanted;
  std::vector<Digest> keys;  // the ends of chains first
  for (auto entry = used.rbegin(); entry != used.rend(); ++entry) {
    const auto end = Digest::from_hex((*entry)->chunk.kv_key);
    if (!end || ((*entry)->hold && index_.is_held(*(*entry)->hold))) continue;
    if (wanted.contains(*end)) continue;
    for (const DiskIndex::Step& step : stored_.disk().path(*end)) {
      if (wanted.insert(step.key).second) keys.push_back(step.key);
    }
  }
  if (keys.empty()) return;
  wire::PrefetchPages message;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) message.keys.push_back(hex(*key));
  outbox_.send(Actor::kStore, std::move(message));
}

void SchedulerCore::on(wire::StoredPages&& stored) {
  stored_.load(stored);
  for (size_t i = 0; i < stored.uses.size(); ++i) {
    const wire::PageUse use = stored.uses.at(i);
    uses_.add({use.tenant, use.chunk_id}, {*Digest::from_hex(use.key), use.position, use.ends});
  }
  if (!stored.more) end_loading();
}

}  // namespace cascade
