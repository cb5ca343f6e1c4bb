// Translates messages into calls of the store's interface.
#include "actors/store_actor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "actors/message_digest.h"
#include "base/checked.h"
#include "cache/kv_view.h"
#include "model/kv_page.h"
#include "persist/chunk_ranking.h"
#include "persist/kv_format.h"

namespace cascade {
namespace {

// The most pages removed at once to make room: one message could not name all pages of a large part
// of a large disk.
constexpr size_t kPagesRemovedAtOnceMax = 100'000;
constexpr size_t kPagesAtOnceMax = 10'000;

// The most bytes that one call of tidy() moves.
constexpr uint64_t kCompactBytesMax = uint64_t{16} << 20;

// When the disk's budget is full, 1 / kRoomShare of it is freed at once.
constexpr uint64_t kRoomShare = 64;

// Changes the answer to say that nothing was done: without the commit, everything is undone.
void refuse(wire::Message& answer, const Error& error) {
  if (auto* ack = std::get_if<wire::StoreAck>(&answer)) ack->error = error;
  if (auto* done = std::get_if<wire::StorePagesDone>(&answer)) {
    done->error = error;
    done->removed.clear();
  }
  if (auto* stored = std::get_if<wire::StateStored>(&answer)) stored->error = error;
}

// Says that what was written did not reach the disk, unless the answer has an error already.
void refuse_unwritten(wire::Message& answer) {
  const Error error = {ErrorCode::kIo, "kv", "a file could not be synchronised"};
  auto* pages = std::get_if<wire::StorePagesDone>(&answer);
  auto* state = std::get_if<wire::StateStored>(&answer);
  if (pages != nullptr && !pages->error) pages->error = error;
  if (state != nullptr && !state->error) state->error = error;
}

// The tokens of the chain that ends with the page. They are read from its end to its beginning,
// since a page knows the page before it. Empty if a page is missing.
std::vector<int32_t> tokens_of_pages(KvStore& pages_on_disk, Digest key) {
  std::vector<std::vector<int32_t>> pages;
  std::optional<int64_t> position;
  while (true) {
    auto page = pages_on_disk.find(key);
    if (!page.ok() || !*page || (position && (*page)->header.position != *position)) return {};
    const KvPageHeader& header = (*page)->header;
    position = header.position - kPageTokens;
    pages.emplace_back(header.token_ids.begin(), header.token_ids.end());
    if (header.position == 0) break;
    key = header.parent;
  }
  std::vector<int32_t> tokens;
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    tokens.insert(tokens.end(), page->begin(), page->end());
  }
  return tokens;
}

}  // namespace

void StoreActor::handle(const std::vector<wire::Message>& batch, const Send& send) {
  for (const wire::Message& message : batch) {
    std::visit(
        [&](const auto& typed) {
          if constexpr (requires { this->work(typed, send); }) this->work(typed, send);
        },
        message);
  }
  (void)commit(send);  // whoever waits for the commit was told of its failure
  if (!checking()) return;
  // The step of a check or backup comes after the commit, because it commits, too.
  upkeep_->step(send);
  tell_forgotten(send);
}

StoreActor::Waiting StoreActor::acknowledgement(uint64_t job, const Status& status) {
  const auto error = status.ok() ? std::nullopt : std::optional(status.error());
  return {wire::StoreAck{job, error}};
}

void StoreActor::acknowledge(uint64_t job, const Status& status) {
  waiting_.push_back(acknowledgement(job, status));
}

void StoreActor::work(const wire::StorePut& put, const Send&) {
  acknowledge(put.job, chunks_.put(put.chunk));
}

void StoreActor::work(const wire::StoreTouch& touch, const Send&) {
  acknowledge(touch.job, chunks_.touch(touch.tenant, touch.id, touch.hits, touch.registrations,
                                       touch.last_used_us));
}

void StoreActor::work(const wire::StoreDelete& remove, const Send&) {
  waiting_.push_back(acknowledgement(remove.job, chunks_.remove(remove.tenant, remove.id)));
  waiting_.back().erases_text = waiting_.back().erases_pages = true;
}

void StoreActor::work(const wire::StoreSession& put, const Send&) {
  acknowledge(put.job, chunks_.put_session(put.session));
}

void StoreActor::work(const wire::StoreSessionDelete& remove, const Send&) {
  waiting_.push_back(acknowledgement(remove.job, chunks_.remove_session(remove.tenant, remove.id)));
  waiting_.back().erases_text = true;  // the text is the session's name
}

void StoreActor::work(const wire::StorePolicy& put, const Send&) {
  acknowledge(put.job, chunks_.put_policy({put.tenant, put.key, put.value}));
}

void StoreActor::work(const wire::StorePages& store, const Send& send) {
  wire::StorePagesDone done;
  done.job = store.job;
  Waiting waiting;
  Status appended = append(store, waiting.written, done.removed, send);
  if (appended.ok()) appended = note(store.uses, store.owners);
  if (!appended.ok()) done.error = appended.error();
  waiting.answer = std::move(done);
  waiting_.push_back(std::move(waiting));
}

// Beyond the budget, the pages that have been unused for longest are evicted.
Status StoreActor::append(const wire::StorePages& store, std::vector<Digest>& written,
                          std::vector<std::string>& removed, const Send& send) {
  if (durable_ == nullptr) return unsupported("state_dir", "the daemon keeps nothing on disk");
  std::vector<RunPage> pages;
  std::vector<uint8_t> last;  // a copy of the last page, which may be a short one
  for (const wire::ChainPage& page : store.pages) {
    const uint8_t* bytes = arena_->data(page.page);
    if (page.token_ids.size() < kPageTokens) {
      last.assign(bytes, bytes + layout_.page_bytes());
      clear_slots(layout_, static_cast<int>(page.token_ids.size()), last.data());
      bytes = last.data();
    }
    pages.push_back({message_digest(page.key), page.token_ids, bytes});
    written.push_back(pages.back().key);
  }
  PageRun run;
  run.tenant = store.tenant;
  run.model = message_digest(store.model);
  run.parent = message_digest(store.parent);
  run.position = store.position;
  run.page_bytes = layout_.page_bytes();
  run.pages = pages;
  run.parts = parts_;
  run.attention = store.attention;
  const Status appended = durable_->kv().append(run, clock_.wall_us());
  const bool full = !appended.ok() && appended.error().code == ErrorCode::kResourceExhausted;
  if (!full || appended.error().field != "max_disk") return appended;
  const uint64_t record = kv_record_bytes(run.parts);
  uint64_t bytes = 0;
  Digest stored_end = run.parent;
  for (const RunPage& page : pages) {
    ASSIGN_OR_RETURN(const auto stored, durable_->kv().find(page.key));
    if (stored) {
      stored_end = page.key;
    } else {
      bytes += record;
    }
  }
  ASSIGN_OR_RETURN(const bool made, make_room(bytes, stored_end, removed, send));
  if (!made) return appended;
  return durable_->kv().append(run, clock_.wall_us());
}

// Frees more than is needed now; otherwise every later write would wait for a commit of its own
// removals. False, and nothing is removed, if that would not be enough. Pinned pages stay, and so
// does the chain that ends with `kept`, which would otherwise be written again and again.
Result<bool> StoreActor::make_room(uint64_t bytes, const Digest& kept,
                                   std::vector<std::string>& removed, const Send& send) {
  KvStore& kv = durable_->kv();
  const uint64_t max = kv.options().disk_bytes_max;
  ASSIGN_OR_RETURN(std::vector<Digest> oldest,
                   durable_->oldest_pages(std::max(bytes, max / kRoomShare), kept));
  // The pages at the end of chains come first.
  if (oldest.size() > kPagesRemovedAtOnceMax) oldest.resize(kPagesRemovedAtOnceMax);
  uint64_t room = max - std::min(max, kv.bytes_on_disk());
  for (const Digest& key : oldest) {
    ASSIGN_OR_RETURN(const auto page, kv.find(key));
    if (page) room += page->place.length;
  }
  if (room < bytes) return false;
  RETURN_IF_ERROR(kv.remove(oldest));
  RETURN_IF_ERROR(commit(send));
  for (const Digest& key : oldest) removed.push_back(key.hex());
  return true;
}

void StoreActor::work(const wire::LoadPages& load, const Send& send) {
  wire::LoadPagesDone done;
  done.job = load.job;
  const int64_t start_us = clock_.monotonic_us();
  if (durable_ != nullptr) {
    std::vector<PageRead> pages;
    std::vector<Digest> keys;
    for (const wire::ChainPage& page : load.pages) {
      keys.push_back(message_digest(page.key));
      pages.push_back({keys.back(), page.token_ids, arena_->data(page.page)});
    }
    PagesRead read = durable_->kv().read(layout_.page_bytes(), pages, parts_);
    done.good = static_cast<int64_t>(read.good);
    done.error = std::move(read.error);
    keys.resize(read.good);
    const Status touched = durable_->kv().touch(keys, clock_.wall_us());
    if (!touched.ok()) spdlog::warn("uses of pages are not noted: {}", touched.error().to_string());
  }
  done.load_us = clock_.monotonic_us() - start_us;
  send(std::move(done));
}

void StoreActor::work(const wire::PrefetchPages& prefetch, const Send&) {
  if (durable_ == nullptr) return;
  std::vector<Digest> keys;
  for (const std::string& key : prefetch.keys) keys.push_back(message_digest(key));
  durable_->kv().prefetch(keys);
}

void StoreActor::work(const wire::StoreState& store, const Send&) {
  if (states_ == nullptr) {
    waiting_.push_back({wire::StateStored{store.job, false, {}}});
    return;
  }
  const Digest key = message_digest(store.key);
  waiting_.push_back({states_->put(store, key), {key}});
}

void StoreActor::work(const wire::LoadState& load, const Send& send) {
  if (states_ != nullptr) return send(states_->load(load));
  send(wire::StateLoaded{load.job, not_found("state", "is not stored"), {}, 0});
}

void StoreActor::work(const wire::LeasePages& lease, const Send& send) {
  wire::PagesLeased leased;
  leased.job = lease.job;
  if (durable_ == nullptr)
    leased.error = unsupported("state_dir", "the daemon keeps nothing on disk");
  for (const std::string& key : lease.keys) {
    if (leased.error) break;
    const auto number = durable_->kv().lease(message_digest(key), layout_.page_bytes(), parts_);
    leased.leases.push_back(number.ok() ? *number : wire::PagesLeased::kNone);
    if (number.ok() || number.error().code == ErrorCode::kNotFound) continue;
    if (number.error().code != ErrorCode::kDataCorrupt) leased.error = number.error();
  }
  if (leased.error) {
    work(wire::ReleaseLeases{std::exchange(leased.leases, {})}, send);
  }
  send(std::move(leased));
}

void StoreActor::work(const wire::ReleaseLeases& release, const Send&) {
  if (durable_ == nullptr) return;
  for (const uint32_t lease : release.leases) durable_->kv().leases().release(lease);
}

// Notes which chunks the pages have text of or are kept for. If that fails, a page may stay on disk
// after such a chunk is deleted, until its place is needed.
void StoreActor::work(const wire::StoreUses& stored, const Send&) {
  const Status noted = note(stored.uses, stored.owners);
  if (!noted.ok()) spdlog::warn("texts of pages are not noted: {}", noted.error().to_string());
}

Status StoreActor::note(const wire::PageUses& uses, const std::vector<wire::PageOwner>& owners) {
  if (durable_ == nullptr) return {};
  for (size_t i = 0; i < uses.size(); ++i) {
    const wire::PageUse use = uses.at(i);
    RETURN_IF_ERROR(
        durable_->kv().put_use({message_digest(use.key), use.tenant, use.chunk_id, use.ends, 0}));
  }
  for (const wire::PageOwner& owner : owners) {
    RETURN_IF_ERROR(
        durable_->kv().put_owner({message_digest(owner.key), owner.tenant, owner.chunk_id}));
  }
  return {};
}

void StoreActor::work(const wire::StoreChain& chain, const Send&) {
  if (durable_ == nullptr) return acknowledge(chain.job, {});
  ChainTable& chains = durable_->chains();
  acknowledge(chain.job,
              chain.token_ids.empty()
                  ? chains.settle(chain.tenant, chain.id)
                  : chains.put({message_digest(chain.model), chain.tenant, chain.id,
                                chain.token_ids, chain.begin, chain.pending, chain.attention}));
}

void StoreActor::work(const wire::RemovePages& remove, const Send&) {
  std::vector<Digest> keys;
  for (const std::string& key : remove.keys) keys.push_back(message_digest(key));
  waiting_.push_back(
      acknowledgement(remove.job, durable_ == nullptr ? Status() : durable_->kv().remove(keys)));
  waiting_.back().erases_pages = true;
}

void StoreActor::work(const wire::ReadChain& read, const Send& send) {
  wire::StoredChain chain;
  chain.job = read.job;
  if (durable_ != nullptr) {
    auto stored = durable_->chains().find(message_digest(read.model), read.tenant, read.id);
    if (stored.ok() && *stored) {
      chain.token_ids = std::move((*stored)->token_ids);
      chain.begin = (*stored)->begin;
      chain.attention = (*stored)->attention;
    } else if (!read.key.empty()) {
      chain.token_ids = tokens_of_pages(durable_->kv(), message_digest(read.key));
      const auto last = durable_->kv().find(message_digest(read.key));
      if (last.ok() && *last) {
        chain.tenant = (*last)->header.tenant;
        chain.attention = (*last)->header.attention;
      }
    }
  }
  send(std::move(chain));
}

void StoreActor::work(const wire::StoreSearch& search, const Send& send) {
  wire::StoreFound answer;
  answer.job = search.job;
  if (durable_ == nullptr) {
    answer.error = unsupported("query",
                               "only texts on disk can be searched, and this daemon keeps "
                               "nothing there (--state-dir '')");
    return send(std::move(answer));
  }
  auto hits =
      durable_->chunks().search(search.tenant, search.query, static_cast<size_t>(search.limit));
  if (!hits.ok()) {
    answer.error = hits.error();
  } else {
    for (SearchHit& hit : *hits)
      answer.found.push_back({std::move(hit.id), std::move(hit.snippet)});
  }
  send(std::move(answer));
}

void StoreActor::work(const wire::StoreRank& rank, const Send& send) {
  wire::StoreRanked answer;
  answer.job = rank.job;
  if (durable_ == nullptr) {
    answer.error = unsupported("question", "there is no search index without a state directory");
    return send(std::move(answer));
  }
  auto best = rank_chunks(durable_->database(), rank.tenant, rank.question, rank.ids,
                          static_cast<size_t>(rank.limit));
  if (!best.ok()) {
    answer.error = best.error();
  } else {
    answer.ids = *std::move(best);
  }
  send(std::move(answer));
}

void StoreActor::work(const wire::StoreCheck& check, const Send& send) {
  if (upkeep_) return upkeep_->start(check, send);
  send(wire::StoreChecked{
      check.job, unsupported("state_dir", "the daemon keeps nothing on disk"), {}});
}

void StoreActor::work(const wire::StoreBackup& backup, const Send& send) {
  if (upkeep_) return upkeep_->start(backup, send);
  send(wire::StoreBackedUp{
      backup.job, unsupported("state_dir", "the daemon keeps nothing on disk"), {}});
}

void StoreActor::tell_forgotten(const Send& send) {
  const auto tell = [&](const std::vector<Digest>& keys, bool deleted) {
    wire::PagesForgotten forgotten = {{}, deleted};
    for (const Digest& key : keys) {
      forgotten.keys.push_back(key.hex());
      if (forgotten.keys.size() == kPagesAtOnceMax) send(std::exchange(forgotten, {{}, deleted}));
    }
    if (!forgotten.keys.empty()) send(std::move(forgotten));
  };
  tell(durable_->kv().take_forgotten(), /*deleted=*/false);
  tell(durable_->kv().take_deleted(), /*deleted=*/true);
  if (states_ != nullptr) states_->tell_removed(send);
}

Status StoreActor::commit(const Send& send) {
  Status committed = states_ == nullptr ? Status() : states_->commit();
  if (committed.ok()) {
    committed = chunks_.commit();
  } else {
    (void)chunks_.rollback();
  }
  if (!waiting_.empty()) tidy_ = false;
  std::vector<Digest> unwritten;
  if (durable_ != nullptr) unwritten = durable_->kv().take_unwritten();
  if (states_ != nullptr) {
    const std::vector<Digest> states = states_->take_unwritten();
    unwritten.insert(unwritten.end(), states.begin(), states.end());
  }
  // Forgotten pages are reported before anybody is told that a chunk is deleted.
  if (durable_ != nullptr) tell_forgotten(send);
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (!committed.ok()) refuse(waiting.answer, committed.error());
    const bool lost = std::ranges::any_of(waiting.written, [&](const Digest& key) {
      return std::ranges::find(unwritten, key) != unwritten.end();
    });
    if (lost) refuse_unwritten(waiting.answer);
    auto* state = std::get_if<wire::StateStored>(&waiting.answer);
    // Its page may have been removed in the same commit.
    if (state != nullptr && state->stored) state->stored = states_->contains(waiting.written[0]);
    answer(std::move(waiting), send);
  }
  return committed;
}

// Deleted text remains in the log and in the search index for a while: the answer to its deletion
// waits.
void StoreActor::answer(Waiting&& waiting, const Send& send) {
  auto* ack = std::get_if<wire::StoreAck>(&waiting.answer);
  const bool erased = ack != nullptr && !ack->error && durable_ != nullptr;
  const bool is_clean =
      !erased || (durable_->kv().is_clean() && (states_ == nullptr || states_->is_clean()));
  if (erased && waiting.erases_pages && !is_clean) {
    ack->error = Error{ErrorCode::kIo, "kv",
                       "deleted pages could not be overwritten in their file; the daemon tries "
                       "again"};
  } else if (erased && waiting.erases_text) {
    return forgetting_.push_back(std::move(waiting.answer));
  }
  send(std::move(waiting.answer));
}

void StoreActor::forget_more(const Send& send) {
  const Result<bool> more = forget_step();
  if (more.ok() && *more) return;
  for (wire::Message& message : std::exchange(forgetting_, {})) {
    if (!more.ok()) refuse(message, more.error());
    send(std::move(message));
  }
}

Result<bool> StoreActor::forget_step() {
  ASSIGN_OR_RETURN(const bool more, durable_->forget_step());
  if (more || states_ == nullptr) return more;
  return states_->forget_step();
}

Result<bool> StoreActor::compact() {
  ASSIGN_OR_RETURN(const bool more, durable_->kv().compact(kCompactBytesMax));
  RETURN_IF_ERROR(durable_->commit());
  if (more || states_ == nullptr) return more;
  return states_->compact(kCompactBytesMax);
}

void StoreActor::tidy(const Send& send) {
  if (forgetting()) return forget_more(send);
  if (checking()) {
    upkeep_->step(send);
    return tell_forgotten(send);
  }
  if (durable_ == nullptr || tidy_) return;
  Result<bool> more = forget_step();
  if (more.ok() && !*more) more = compact();
  if (!more.ok())
    spdlog::warn("the state directory is not tidied up: {}", more.error().to_string());
  tidy_ = !more.ok() || !*more;
}

}  // namespace cascade
