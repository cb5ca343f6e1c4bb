// An index of the pages' names, and a table of removals that the store has not answered.
#include "actors/scheduler/disk/stored_pages.h"

#include <algorithm>
#include <utility>

namespace cascade {
namespace {

constexpr size_t kPagesRemovedAtOnceMax = 100'000;  // a message has room for a million

}  // namespace

StoredPages::StoredPages(ChainIndex& index, Erasures& erasures, Jobs& jobs, Outbox& outbox,
                         IsKept is_kept, Removed removed)
    : index_(index),
      erasures_(erasures),
      jobs_(jobs),
      outbox_(outbox),
      is_kept_(std::move(is_kept)),
      removed_(std::move(removed)),
      removing_(jobs, {.actor = Actor::kStore, .delays_stop = true},
                [this](auto&& lost) { lose(std::move(lost)); }) {}

void StoredPages::load(const wire::StoredPages& stored) {
  for (const wire::StoredPage& page : stored.pages) {
    disk_.add(*Digest::from_hex(page.key), *Digest::from_hex(page.parent), page.tokens);
  }
  for (const std::string& beginning : stored.other_models) {
    if (const auto digest = Digest::from_hex(beginning)) of_other_models_.insert(*digest);
  }
}

void StoredPages::add(const Digest& key, const Digest& parent, int32_t tokens) {
  disk_.add(key, parent, tokens);
  ++counters_.pages_written;
}

void StoredPages::move_chain_end(const std::optional<Digest>& before,
                                 const std::optional<Digest>& after) {
  if (before) {
    const auto found = chain_ends_.find(*before);
    if (found != chain_ends_.end() && --found->second == 0) chain_ends_.erase(found);
  }
  if (after) ++chain_ends_[*after];
}

std::vector<Digest> StoredPages::path_of(TenantId owner, std::span<const int32_t> chain) const {
  std::vector<Digest> path;
  const ChainIndex::Match match = index_.match(owner, chain, ChainIndex::Where::kAnywhere);
  for (ChainIndex::Node* node : path_to(match.node)) {
    path.push_back(key_of(node));
  }
  const std::vector<Digest> behind =
      disk_.keys_of(key_of(match.node), tenant_key_behind(index_, match.node, owner),
                    chain.subspan(path.size() * kPageTokens));
  path.insert(path.end(), behind.begin(), behind.end());
  return path;
}

int64_t StoredPages::tokens_after(const ChainIndex::Node* node, TenantId owner,
                                  std::span<const int32_t> chain) const {
  const bool is_root = node == index_.root();
  const int64_t begin = is_root ? 0 : name_of(node).position + kPageTokens;
  return disk_
      .match(key_of(node), tenant_key_behind(index_, node, owner),
             chain.subspan(static_cast<size_t>(begin)))
      .tokens;
}

void StoredPages::note_gone(const Digest& key) {
  if (!disk_.contains(key)) return;
  disk_.remove(key);
  ++counters_.pages_removed;
  if (ChainIndex::Node* node = index_.find(key)) index_.lose(node);
}

void StoredPages::remove_from(const Digest& key, const StoredName* erased) {
  const std::vector<Digest> gone = disk_.subtree(
      key, [&](const Digest& page) { return chain_ends_.contains(page) || is_kept_(page); });
  std::vector<std::string> keys;
  for (const Digest& page : gone) {
    keys.push_back(page.hex());
    note_gone(page);
  }
  send(std::move(keys), erased);
}

void StoredPages::remove_damaged(const Digest& key) {
  if (!disk_.contains(key)) return;
  count_bad();
  note_gone(key);
  send({key.hex()}, nullptr);
}

void StoredPages::remove_unshared(const std::vector<Digest>& path, const StoredName* erased) {
  std::vector<std::string> keys;
  for (auto key = path.rbegin(); key != path.rend(); ++key) {
    if (!disk_.contains(*key)) continue;
    if (chain_ends_.contains(*key) || is_kept_(*key)) break;
    if (disk_.has_children(*key)) break;
    keys.push_back(key->hex());
    note_gone(*key);
  }
  send(std::move(keys), erased);
}

void StoredPages::send(std::vector<std::string>&& keys, const StoredName* erased) {
  for (size_t begin = 0; begin < keys.size(); begin += kPagesRemovedAtOnceMax) {
    const size_t end = std::min(keys.size(), begin + kPagesRemovedAtOnceMax);
    Removing part = {
        {keys.begin() + static_cast<ptrdiff_t>(begin), keys.begin() + static_cast<ptrdiff_t>(end)},
        {}};
    if (erased != nullptr) {
      ++erasures_.find(*erased)->pieces;
      part.erased = *erased;
    }
    const uint64_t job = jobs_.next();
    outbox_.send(Actor::kStore, wire::RemovePages{job, part.keys});
    removing_.put(job, std::move(part));
  }
}

bool StoredPages::on(const wire::StoreAck& ack) {
  std::optional<Removing> removal = removing_.take(ack.job);
  if (!removal) return false;
  std::optional<StoredName>& erased = removal->erased;
  if (erased && erasures_.find(*erased) == nullptr) erased.reset();
  if (ack.error) {
    std::vector<std::string>& keys = failed_[erased];
    keys.insert(keys.end(), removal->keys.begin(), removal->keys.end());
  }
  removed_(erased, ack.error);
  return true;
}

void StoredPages::retry() {
  if (!removing_.empty()) return;
  auto failed = failed_.extract(std::nullopt);
  if (!failed.empty()) send(std::move(failed.mapped()), nullptr);
}

void StoredPages::retry(const StoredName& erased) {
  auto failed = failed_.extract(erased);
  if (!failed.empty()) send(std::move(failed.mapped()), &erased);
}

// The store was restarted: it is asked again to remove these pages.
void StoredPages::lose(PendingJobs<Removing>::All&& lost) {
  for (auto& [job, removal] : lost) {
    const std::optional<StoredName>& erased = removal.erased;
    if (erased) --erasures_.find(*erased)->pieces;
    send(std::move(removal.keys), erased ? &*erased : nullptr);
  }
}

}  // namespace cascade
