// A queue of chains, and one message to the store at a time.
#include "actors/scheduler/disk/page_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/chain_key.h"

namespace cascade {
namespace {

// One message has enough pages to keep the disk busy, and few enough that a load does not wait long
// for a write.
constexpr size_t kPagesWrittenAtOnceMax = 16;

// The queue takes chains of this many tokens in all: 16 MB of ids. Further chains are not written.
constexpr size_t kWritebackTokensMax = size_t{4} << 20;

}  // namespace

PageWriter::PageWriter(bool keeps_pages, const Clock& clock, Jobs& jobs, Outbox& outbox,
                       ChainIndex& index, const Tenants& tenants, StoredPages& stored,
                       Callbacks callbacks)
    : keeps_pages_(keeps_pages),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      index_(index),
      tenants_(tenants),
      stored_(stored),
      callbacks_(std::move(callbacks)),
      writing_(jobs, {Actor::kStore}, [this](PendingJobs<Writing>::All&& lost) {
        for (const auto& [number, writing] : lost) end(writing);
      }) {}

void PageWriter::write_behind(TenantId owner, std::span<const int32_t> chain,
                              std::optional<StoredName> chunk, bool of_text) {
  if (!keeps_pages_ || chain.empty() || !index_.tenant(owner).mode.is_stored()) return;
  const bool awaited = chunk && callbacks_.is_awaited(*chunk);
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

void PageWriter::write_growing(TenantId owner, std::span<const int32_t> chain) {
  if (!keeps_pages_ || chain.empty()) return;
  const auto begun = std::ranges::find_if(writebacks_, [&](const Writeback& writeback) {
    return writeback.owner == owner && writeback.grows && writeback.chain.size() <= chain.size() &&
           common_prefix(writeback.chain, chain) == writeback.chain.size();
  });
  if (begun == writebacks_.end()) {
    writeback_tokens_ += chain.size();
    writebacks_.push_front({owner, {chain.begin(), chain.end()}, {}, false, true});
    return;
  }
  writeback_tokens_ += chain.size() - begun->chain.size();
  begun->chain.assign(chain.begin(), chain.end());
}

void PageWriter::drop_if(const std::function<bool(const Writeback&)>& drops) {
  std::erase_if(writebacks_, [&](const Writeback& writeback) {
    const bool dropped = drops(writeback);
    if (dropped) writeback_tokens_ -= writeback.chain.size();
    return dropped;
  });
}

std::vector<NamedPage> PageWriter::pages_of(TenantId owner, std::span<const int32_t> chain) const {
  std::vector<NamedPage> pages;
  const ChainIndex::Match match = index_.match(owner, chain, ChainIndex::Where::kAnywhere);
  for (ChainIndex::Node* node : path_to(match.node)) {
    const ChainIndex::PageName name = name_of(node);
    pages.push_back({name.key, name.parent, name.owner, name.position, name.tokens, node});
  }
  const std::span<const int32_t> tail = chain.subspan(match.pages.size() * kPageTokens);
  if (match.partial == nullptr || match.partial_tokens != static_cast<int>(tail.size())) {
    return pages;
  }
  const Digest parent = key_of(match.node);
  const Digest key = chain_key(parent, tenant_key_behind(index_, match.node, owner), tail);
  const auto position = static_cast<int64_t>(match.pages.size()) * kPageTokens;
  pages.push_back({key, parent, owner, position, tail, match.partial});
  return pages;
}

void PageWriter::write_pages(const std::function<int64_t()>& pages_max) {
  const int64_t now = clock_.monotonic_us();
  if (!writing_.empty() || now < write_after_us_) return;
  bool ended = false;
  while (!writebacks_.empty()) {
    const Writeback& next = writebacks_.front();
    std::vector<NamedPage> run;
    const std::vector<NamedPage> pages = pages_of(next.owner, next.chain);
    for (const NamedPage& page : pages) {
      const bool wanted = !stored_.disk().contains(page.key) && in_memory(page_of(page.node));
      if (!run.empty() && (!wanted || page.owner != run.front().owner)) break;
      if (wanted) run.push_back(page);
      if (run.size() == kPagesWrittenAtOnceMax) break;
    }
    if (!run.empty()) {
      // The pages stay in memory until they are written, so running requests must not need their
      // room.
      ChainIndex::Node* last = run.back().node;
      // Pages before the run may be spilled meanwhile. Those of the run are not on disk and have no
      // lease, except a longer page whose beginning is written.
      const bool spillable = run.back().tokens.size() < name_of(last).tokens.size();
      const auto use = spillable ? ChainIndex::Use::kMemory : ChainIndex::Use::kReader;
      if (pages_max() < static_cast<int64_t>(index_.taken_by(last, use))) {
        if (put_growing_first()) continue;
        break;
      }
      index_.acquire(last, use);
      send(next, run, use);
      break;
    }
    if (!pages.empty() && stored_.disk().contains(pages.back().key)) {
      if (next.chunk && !next.of_text) {
        outbox_.send(Actor::kStore, ownership(*next.chunk, pages.back().key));
      }
      callbacks_.written(pages.back().key);
    }
    writeback_tokens_ -= next.chain.size();
    writebacks_.pop_front();
    ended = true;
  }
  if (ended) callbacks_.chains_ended();  // only now: the callback may put other chains first
}

// A running request waits for its pages, and there is always room to write them: they are in use
// already. False if no such chain waits, or if it comes first already.
bool PageWriter::put_growing_first() {
  const auto growing = std::ranges::find_if(writebacks_, &Writeback::grows);
  if (growing == writebacks_.end() || growing == writebacks_.begin()) return false;
  std::rotate(writebacks_.begin(), growing, std::next(growing));
  return true;
}

void PageWriter::send(const Writeback& writeback, const std::vector<NamedPage>& run,
                      ChainIndex::Use how) {
  wire::StorePages message;
  message.job = jobs_.next();
  const std::string* tenant = tenants_.name_of(run.front().owner);
  if (tenant != nullptr) message.tenant = *tenant;
  message.attention = index_.tenant(run.front().owner).mode;
  message.model = key_of(index_.root()).hex();
  message.parent = run.front().parent.hex();
  message.position = run.front().position;
  Writing writing = {
      run.front().owner, writeback.owner, writeback.chain, run.back().node, how, {}, {}};
  for (const NamedPage& page : run) {
    message.pages.push_back(
        {page.key.hex(), {page.tokens.begin(), page.tokens.end()}, page_of(page.node)});
    writing.pages.push_back({page.key, page.parent, static_cast<int32_t>(page.tokens.size())});
    for (wire::PageUse& use : callbacks_.uses_of(page)) message.uses.add(std::move(use));
  }
  if (writeback.chunk && !writeback.of_text) {
    message.owners.push_back({run.back().key.hex(), writeback.chunk->tenant, writeback.chunk->id});
  }
  writing_.put(message.job, std::move(writing));
  outbox_.send(Actor::kStore, std::move(message));
}

void PageWriter::end_when_written(TenantId owner, std::span<const int32_t> chain, int64_t keep,
                                  Removal why) {
  Writing* writing = writing_.front();
  if (writing == nullptr || (writing->owner != owner && owner != kPublic)) return;
  if (static_cast<int64_t>(common_prefix(writing->chain, chain)) <= keep) return;
  const std::span<const int32_t> gone = owner == kPublic ? chain : chain.first(0);
  writing->ends.push_back({owner, keep, why, {gone.begin(), gone.end()}});
}

bool PageWriter::wait_for_writing(const StoredName& erased) {
  Writing* writing = writing_.front();
  if (writing == nullptr) return false;
  writing->erased.push_back(erased);
  return true;
}

void PageWriter::on(const wire::StorePagesDone& done) {
  for (const std::string& key : done.removed) stored_.note_gone(*Digest::from_hex(key));
  if (!writing_.contains(done.job)) return;  // of an earlier incarnation of the store
  const Writing& writing = *writing_.front();
  if (done.error) {
    note_failure(writing, *done.error);
  } else {
    if (error_) spdlog::info("K and V are written again");
    error_.reset();
    for (const auto& page : writing.pages) stored_.add(page.key, page.parent, page.tokens);
  }
  end(*writing_.take(done.job));
}

void PageWriter::note_failure(const Writing& writing, const Error& error) {
  if (!error_) spdlog::warn("K and V are not written: {}", error.to_string());
  error_ = error;
  error_us_ = clock_.monotonic_us();
  if (error.field != "max_disk") {
    write_after_us_ = clock_.monotonic_us() + kWriteRetryUs;
    return callbacks_.failed(error, {});
  }
  // The disk has no room for this chain beside pinned pages, but may have room for another.
  const auto failed = std::ranges::find_if(writebacks_, [&](const Writeback& writeback) {
    return writeback.owner == writing.chain_owner && writeback.chain == writing.chain;
  });
  if (failed == writebacks_.end()) return;
  const std::optional<StoredName> chunk = failed->chunk;
  writeback_tokens_ -= failed->chain.size();
  writebacks_.erase(failed);
  if (chunk) callbacks_.failed(error, chunk);
}

void PageWriter::end(const Writing& writing) {
  index_.release(writing.last, writing.use);
  callbacks_.ended(writing);
}

}  // namespace cascade
