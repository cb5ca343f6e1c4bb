// Pages between memory and disk: what is written behind, what is read instead of computed, what
// goes with its chunk.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/scheduler_core.h"
#include "cache/chain_key.h"

namespace cascade {
namespace {

// One message's pages: enough for the disk to be busy, few enough that a load does not wait long
// behind a write.
constexpr size_t kPagesWrittenAtOnceMax = 16;
constexpr size_t kPagesLoadedAtOnceMax = 128;

// Tokens of chains that wait to be written: 16 MB of ids. What is beyond is not written.
constexpr size_t kWritebackTokensMax = size_t{4} << 20;

// Computing a prompt as long as this takes longer than anybody wants to wait twice: it is written
// while it is computed, whenever so many tokens more are in pages.
constexpr int64_t kCostlyTokens = 1024;
constexpr int64_t kWritebackStepTokens = 512;

// What a load costs besides its bytes, and what the disk gives before that was measured.
constexpr double kLoadOverheadUs = 500;
constexpr double kBytesPerUsGuess = 500;
constexpr double kNewSpeedWeight = 0.25;

// After the disk refused a write.
constexpr int64_t kWriteRetryUs = 2'000'000;

std::string hex(const Digest& key) {
  return key.hex();
}

}  // namespace

// ---- Writing ------------------------------------------------------------------------------------

void SchedulerCore::write_behind(TenantId owner, std::span<const int32_t> chain,
                                 std::optional<StoredName> chunk, bool of_text) {
  if (!options_.keep_pages || chain.empty()) return;
  const bool awaited =
      chunk && std::ranges::find(pin_replies_, *chunk, &PinReply::chunk) != pin_replies_.end();
  const auto queued = std::ranges::find_if(writebacks_, [&](const Writeback& writeback) {
    return writeback.owner == owner && writeback.chunk == chunk && writeback.of_text == of_text &&
           std::ranges::equal(writeback.chain, chain);
  });
  if (queued != writebacks_.end()) {
    if (awaited) std::rotate(writebacks_.begin(), queued, std::next(queued));
    return;
  }
  if (!awaited && writeback_tokens_ + chain.size() > kWritebackTokensMax) return;
  writeback_tokens_ += chain.size();
  const auto place = awaited ? writebacks_.begin() : writebacks_.end();
  writebacks_.insert(place, {owner, {chain.begin(), chain.end()}, std::move(chunk), of_text});
}

// Of a prompt that took long to compute, what is new since the last time.
void SchedulerCore::write_prompt_behind(Request& request) {
  const int64_t committed = request.sequence->committed() / kPageTokens * kPageTokens;
  if (committed < kCostlyTokens || !request.params.reuse) return;
  if (!request.written_behind || has_gone_text(request)) return;
  const bool whole = request.prompt_done();
  if (committed - request.written_tokens < (whole ? 1 : kWritebackStepTokens)) return;
  request.written_tokens = committed;
  note_uses(request);
  write_behind(tenants_.id(request.client.tenant),
               std::span(request.sequence->tokens()).first(static_cast<size_t>(committed)));
}

// The pages of the chain that are in memory, as they are called on disk. A page that goes on beyond
// the chain counts as far as the chain goes.
std::vector<NamedPage> SchedulerCore::pages_of(TenantId owner,
                                               std::span<const int32_t> chain) const {
  std::vector<NamedPage> pages;
  const ChainIndex::Match match = index_.match(owner, chain);
  for (ChainIndex::Node* node : ChainIndex::path_to(match.node)) {
    const ChainIndex::PageName name = ChainIndex::name_of(node);
    pages.push_back({name.key, name.parent, name.owner, name.position, name.tokens, node});
  }
  const std::span<const int32_t> tail = chain.subspan(match.pages.size() * kPageTokens);
  if (match.partial == nullptr || match.partial_tokens != static_cast<int>(tail.size())) {
    return pages;
  }
  const Digest parent = ChainIndex::key_of(match.node);
  const Digest key = chain_key(parent, index_.tenant_key_behind(match.node, owner), tail);
  const auto position = static_cast<int64_t>(match.pages.size()) * kPageTokens;
  pages.push_back({key, parent, owner, position, tail, match.partial});
  return pages;
}

// Sends the next pages that are not on disk; one message at a time.
void SchedulerCore::write_pages() {
  const int64_t now = clock_.monotonic_us();
  if (!writing_.empty() || !loaded_ || now < write_after_us_) return;
  bool ended = false;
  while (!writebacks_.empty()) {
    const Writeback& next = writebacks_.front();
    std::vector<NamedPage> run;
    const std::vector<NamedPage> pages = pages_of(next.owner, next.chain);
    for (const NamedPage& page : pages) {
      const bool wanted = !stored_.disk().contains(page.key);
      if (!run.empty() && (!wanted || page.owner != run.front().owner)) break;
      if (wanted) run.push_back(page);
      if (run.size() == kPagesWrittenAtOnceMax) break;
    }
    if (!run.empty()) {
      // They stay where they are until they are written: what runs must not need their places.
      ChainIndex::Node* last = run.back().node;
      if (available_pages() < static_cast<int64_t>(index_.unlocked_count(last))) break;
      index_.acquire(last);
      send_pages(next, run);
      break;
    }
    if (!pages.empty() && stored_.disk().contains(pages.back().key)) {
      if (next.chunk && !next.of_text) {
        outbox_.send(Actor::kStore, ownership(*next.chunk, pages.back().key));
      }
      note_written(pages.back().key);
    }
    writeback_tokens_ -= next.chain.size();
    writebacks_.pop_front();
    ended = true;
  }
  if (ended) answer_pins();  // only now: it may put chains of other pins first
}

void SchedulerCore::send_pages(const Writeback& writeback, const std::vector<NamedPage>& run) {
  wire::StorePages message;
  message.job = jobs_.next();
  const std::string* tenant = tenants_.name_of(run.front().owner);
  if (tenant != nullptr) message.tenant = *tenant;
  message.model = hex(ChainIndex::key_of(index_.root()));
  message.parent = hex(run.front().parent);
  message.position = run.front().position;
  Writing writing = {run.front().owner, writeback.owner, writeback.chain, run.back().node, {}, {}};
  for (const NamedPage& page : run) {
    message.pages.push_back(
        {hex(page.key), {page.tokens.begin(), page.tokens.end()}, ChainIndex::page_of(page.node)});
    writing.pages.push_back({page.key, page.parent, static_cast<int32_t>(page.tokens.size())});
    for (wire::PageUse& use : uses_of(page)) message.uses.add(std::move(use));
  }
  if (writeback.chunk && !writeback.of_text) {
    message.owners.push_back({hex(run.back().key), writeback.chunk->tenant, writeback.chunk->id});
  }
  writing_.put(message.job, std::move(writing));
  outbox_.send(Actor::kStore, std::move(message));
}

void SchedulerCore::on(wire::StorePagesDone&& done) {
  for (const std::string& key : done.removed) stored_.forget(*Digest::from_hex(key));
  if (!writing_.contains(done.job)) return;  // of an earlier incarnation of the store
  const Writing& writing = *writing_.front();
  if (done.error) {
    if (!disk_error_) spdlog::warn("K and V are not written: {}", done.error->to_string());
    disk_error_ = done.error;
    if (done.error->field == "max_disk") {
      // Beside what is pinned there is no room for this chain; for another there may be.
      const auto failed = std::ranges::find_if(writebacks_, [&](const Writeback& writeback) {
        return writeback.owner == writing.chain_owner && writeback.chain == writing.chain;
      });
      if (failed != writebacks_.end()) {
        const std::optional<StoredName> chunk = failed->chunk;
        writeback_tokens_ -= failed->chain.size();
        writebacks_.erase(failed);
        if (chunk) refuse_pins(*done.error, chunk);
      }
    } else {
      write_after_us_ = clock_.monotonic_us() + kWriteRetryUs;
      refuse_pins(*done.error);
    }
  } else {
    if (disk_error_) spdlog::info("K and V are written again");
    disk_error_.reset();
    for (const auto& page : writing.pages) stored_.add(page.key, page.parent, page.tokens);
  }
  end_writing(*writing_.take(done.job));
}

// What was deleted while it was being written goes now.
void SchedulerCore::end_writing(const Writing& ended) {
  index_.release(ended.last);
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

// The store was restarted.
void SchedulerCore::lost(std::map<uint64_t, Writing>&& jobs) {
  for (const auto& [number, job] : jobs) end_writing(job);
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
  // A tenant's chain may begin with public pages, which are not free before it is written.
  Writing* writing = writing_.front();
  if (writing != nullptr && (writing->owner == owner || owner == kPublic)) {
    const auto shared = static_cast<int64_t>(common_prefix(writing->chain, chain));
    const std::span<const int32_t> gone = owner == kPublic ? chain : chain.first(0);
    if (shared > keep) {
      writing->ends.push_back({owner, keep, Removal::kDeleted, {gone.begin(), gone.end()}});
    }
  }
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
  read_chain({name, chunk.kv_key, why, chunk.kv_begin});
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
