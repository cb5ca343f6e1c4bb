// The index knows which pages can be spilled; this room finds out which ones are on disk.
#include "actors/scheduler/disk/page_spills.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace cascade {
namespace {

static_assert(wire::kLeasedPage == kLeasedPage, "jobs name leased pages as the cache does");
static_assert(wire::kUnseenPage == kLostPage, "sequences give no page where they look away");

// The store reads a block of each page that it leases, and others wait for it meanwhile.
constexpr size_t kLeasedAtOnceMax = 512;

// One page is begun, one is computed, one is written, one is leased.
constexpr int64_t kWorkingPagesMin = 4;

// Indexes take at most one page of this many pages of memory.
constexpr int64_t kIndexShare = 4;

// How long nothing is leased after the disk could not be read.
constexpr int64_t kLeaseRetryUs = 2'000'000;

}  // namespace

PageSpills::PageSpills(bool keeps_pages, const Memory& pool, const ReaderSliceLimits& slices,
                       const PrefillTime& time, const Clock& clock, Jobs& jobs, Outbox& outbox,
                       ChainIndex& index, StoredPages& stored, const RequestTable& requests,
                       Adopted adopted)
    : pool_pages_(static_cast<int64_t>(pool.pages)),
      indexes_in_page_(pool.indexes_in_page),
      page_bytes_(static_cast<double>(pool.page_bytes)),
      working_pages_(std::max(
          kWorkingPagesMin,
          std::min(kReaderSliceStages * reader_slice_tokens_max(pool_pages_, slices) / kPageTokens,
                   pool_pages_ / 2))),
      possible_(keeps_pages && pool_pages_ > working_pages_),
      time_(time),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      index_(index),
      stored_(stored),
      requests_(requests),
      adopted_(std::move(adopted)),
      leasing_(jobs, {Actor::kStore},
               [this](PendingJobs<Leasing>::All&& lost) {
                 for (auto& [number, leasing] : lost) ask(std::move(leasing));
               }),
      slices_(slices) {}

int64_t PageSpills::index_pages(const AttentionMode& mode, int64_t tokens) const {
  if (mode.selected == 0) return 0;
  return (chain_pages(static_cast<size_t>(tokens)) + indexes_in_page_ - 1) / indexes_in_page_;
}

int64_t PageSpills::tokens_max(const AttentionMode& mode) const {
  if (mode.selected == 0) return std::numeric_limits<int64_t>::max();
  const int64_t left = std::max<int64_t>(0, pool_pages_ - promised_pages({}, 0));
  const int64_t share = std::max<int64_t>(1, pool_pages_ / kIndexShare);
  return std::min(left, share) * indexes_in_page_ * kPageTokens;
}

bool PageSpills::reserve_indexes(Request& request, int64_t tokens) const {
  if (!request.reader) return true;
  const int64_t all = std::max(tokens, std::ssize(request.sequence->pages()) * kPageTokens);
  const int64_t pages = index_pages(request.attention, all);
  return pages == 0 || request.sequence->reserve_indexes(pages);
}

int64_t PageSpills::slice_tokens_max() const {
  return std::max<int64_t>(1, working_pages_ / kReaderSliceStages) * kPageTokens;
}

// Returns how long the next slice of the reader's prompt should be, if nobody waits for tokens.
int64_t PageSpills::next_tokens(const Request& reader) const {
  const auto absent = static_cast<double>(std::ranges::count_if(
      reader.sequence->nodes(),
      [](const ChainIndex::Node* node) { return !in_memory(page_of(node)); }));
  const int64_t begin = reader.sequence->committed();
  const double us = time_.us(begin, begin + kPageTokens, reader.attention);
  const ReaderSlices::Costs costs = {us / kPageTokens, absent * page_bytes_};
  return slices_.next_tokens(costs, slice_tokens_max());
}

// What must be read grows with the position, from 0 where the context fits memory.
double PageSpills::wait_us(const Request& reader, int64_t begin, int64_t end) const {
  const int64_t memory = pool_pages_ * kPageTokens;
  begin = std::max(begin, memory);
  if (begin >= end) return 0;
  const int64_t tokens = end - begin;
  const double read_tokens = static_cast<double>(begin + end - 2 * memory) / 2;
  const double us = time_.us(begin, end, reader.attention);
  const ReaderSlices::Costs costs = {us / static_cast<double>(tokens),
                                     read_tokens * page_bytes_ / kPageTokens};
  return slices_.wait_us(tokens, costs, slice_tokens_max());
}

std::vector<Request*> PageSpills::readers() const {
  std::vector<Request*> readers;
  for (const auto* running : {&requests_.prefilling(), &requests_.decoding()}) {
    for (const uint64_t handle : *running) {
      Request& request = requests_.at(handle);
      if (request.reader) readers.push_back(&request);
    }
  }
  return readers;
}

int64_t PageSpills::pages_owed() const {
  int64_t owed = 0;
  std::unordered_set<const ChainIndex::Node*> counted;  // readers may share pages
  for (const Request* reader : readers()) {
    int64_t kept = std::ssize(reader->sequence->pages()) - reader->sequence->pages_sealed() +
                   std::ssize(reader->sequence->indexes().pages);
    for (const ChainIndex::Node* node : reader->sequence->nodes()) {
      if (waits_for_lease(node) && counted.insert(node).second) ++kept;
    }
    owed += std::max<int64_t>(0, reader->pages_promised - kept);
  }
  return owed;
}

int64_t PageSpills::slice_end(const Request& reader, int64_t planned) const {
  const ChainSequence& sequence = *reader.sequence;
  const int64_t begin = sequence.committed() / kPageTokens * kPageTokens;
  int64_t end = std::min(begin + next_tokens(reader), std::ssize(reader.chain()));
  if (!requests_.decoding().empty()) end = std::min(end, planned);
  // Pages may have been spilled since is_ready(), so that a longer slice is wanted now.
  const int64_t pages = std::ssize(sequence.pages()) + working_pages_ - sequence.pages_kept();
  return std::min(end, pages * kPageTokens);
}

bool PageSpills::is_ready(const Request& request) const {
  if (!request.reader) return !request.loading;
  if (request.state == RequestState::kDecoding) return is_ready(request, 1);
  const int64_t left = std::ssize(request.chain()) - request.sequence->committed();
  return is_ready(request, std::min(left, next_tokens(request)));
}

bool PageSpills::is_ready(const Request& request, int64_t tokens) const {
  if (request.loading) return false;
  if (!request.reader) return true;
  const ChainSequence& sequence = *request.sequence;
  const auto pages = static_cast<int64_t>(sequence.pages().size());
  const int64_t more = chain_pages(static_cast<size_t>(sequence.committed() + tokens)) - pages;
  if (sequence.pages_kept() + std::max<int64_t>(more, 0) > working_pages_) return false;
  return std::ranges::none_of(
      sequence.nodes(), [](const ChainIndex::Node* node) { return page_of(node) == kLostPage; });
}

void PageSpills::release_unused() {
  give_up(index_.take_unused_leases());
}

bool PageSpills::release_idle() {
  const std::vector<uint32_t> leases = index_.take_unused_leases(/*of_idle=*/true);
  give_up(leases);
  return !leases.empty();
}

void PageSpills::lease_more() {
  if (!leasing_.empty() || clock_.monotonic_us() < lease_after_us_) return;
  Leasing leasing;
  std::unordered_set<const ChainIndex::Node*> seen;  // readers may share pages
  for (const Request* reader : readers()) {
    for (const ChainIndex::Node* node : reader->sequence->nodes()) {
      if (leasing.keys.size() == kLeasedAtOnceMax) break;
      if (!waits_for_lease(node) || !stored_.disk().contains(key_of(node))) continue;
      if (seen.insert(node).second) leasing.keys.push_back(key_of(node));
    }
  }
  if (!leasing.keys.empty()) ask(std::move(leasing));
}

bool PageSpills::adopt_more(Request& reader) {
  const ChainSequence& sequence = *reader.sequence;
  const std::span<const int32_t> wanted = reader.reusable();
  const auto done = static_cast<size_t>(sequence.committed());
  if (done % kPageTokens != 0 || done >= wanted.size()) return false;
  const std::vector<ChainIndex::Node*> nodes = sequence.nodes();
  const ChainIndex::Node* end = nodes.empty() ? index_.root() : nodes.back();
  const TenantId owner = sequence.tenant();
  DiskIndex::Match stored = stored_.disk().match(key_of(end), tenant_key_behind(index_, end, owner),
                                                 wanted.subspan(done));
  const size_t whole = static_cast<size_t>(stored.tokens) / kPageTokens;
  const size_t count = std::min(whole, kLeasedAtOnceMax);
  if (count == 0) return false;
  stored.keys.resize(count);
  const auto tokens = wanted.subspan(done, count * kPageTokens);
  ask({std::move(stored.keys), reader.handle, {tokens.begin(), tokens.end()}});
  return true;
}

void PageSpills::ask(Leasing&& leasing) {
  wire::LeasePages message;
  message.job = jobs_.next();
  for (const Digest& key : leasing.keys) message.keys.push_back(key.hex());
  leasing_.put(message.job, std::move(leasing));
  outbox_.send(Actor::kStore, std::move(message));
}

void PageSpills::on(wire::PagesLeased&& leased) {
  const std::optional<Leasing> leasing = leasing_.take(leased.job);
  if (!leasing) return give_up(leased.leases);  // of an earlier incarnation of the store
  error_ = leased.error;
  if (error_) {
    spdlog::warn("pages on disk cannot be read in parts: {}", error_->to_string());
    lease_after_us_ = clock_.monotonic_us() + kLeaseRetryUs;
  }
  leased.leases.resize(leasing->keys.size(), wire::PagesLeased::kNone);
  for (size_t i = 0; !error_ && i < leased.leases.size(); ++i) {
    if (leased.leases[i] != wire::PagesLeased::kNone) continue;
    stored_.count_bad();
    stored_.note_gone(leasing->keys[i]);
  }
  Request* const reader = leasing->adopting == 0 ? nullptr : requests_.find(leasing->adopting);
  if (leasing->adopting == 0) {
    note_leased(*leasing, leased.leases);
  } else if (reader != nullptr) {
    adopt(*reader, *leasing, leased.leases);
  } else {
    give_up(leased.leases);
  }
  lease_more();
}

void PageSpills::note_leased(const Leasing& leasing, std::span<const uint32_t> leases) {
  for (size_t i = 0; i < leases.size(); ++i) {
    if (leases[i] == wire::PagesLeased::kNone) continue;
    // The page may have been removed from the disk meanwhile.
    const bool stored = stored_.disk().contains(leasing.keys[i]);
    ChainIndex::Node* const node = stored ? index_.find(leasing.keys[i]) : nullptr;
    if (node == nullptr) {
      give_up(leases.subspan(i, 1));
    } else {
      index_.set_lease(node, leases[i]);
    }
  }
}

void PageSpills::adopt(Request& reader, const Leasing& leasing, std::span<const uint32_t> leases) {
  const auto end = std::ranges::find(leases, wire::PagesLeased::kNone);
  const auto good = static_cast<size_t>(end - leases.begin());
  reader.sequence->adopt(std::span(leasing.tokens).first(good * kPageTokens), leases.first(good),
                         clock_.wall_us());
  give_up(leases.subspan(good));
  adopted_(reader, static_cast<int64_t>(good) * kPageTokens);
}

void PageSpills::give_up(std::span<const uint32_t> leases) {
  wire::ReleaseLeases message;
  for (const uint32_t lease : leases) {
    if (lease != wire::PagesLeased::kNone) message.leases.push_back(lease);
  }
  if (!message.leases.empty()) outbox_.send(Actor::kStore, std::move(message));
}

void PageSpills::lose(Request& reader, int32_t page) {
  const std::vector<ChainIndex::Node*> nodes = reader.sequence->nodes();
  CHECK(page >= 0 && static_cast<size_t>(page) < nodes.size());
  ChainIndex::Node* const node = nodes[static_cast<size_t>(page)];
  spdlog::warn("a page on disk is damaged: the tokens from {} on are computed again",
               page * kPageTokens);
  stored_.remove_damaged(key_of(node));
  index_.lose(node);  // also if it is not stored any more
  // A checksum beside an index may be what made the page look damaged.
  reader.sequence->forget_indexes(page);
}

std::optional<PageSpills::Lost> PageSpills::next_lost(
    const std::function<bool(const Request&)>& in_flight) const {
  for (Request* reader : readers()) {
    if (in_flight(*reader) || reader->sequence->pages_kept() > working_pages_) continue;
    const std::vector<ChainIndex::Node*> nodes = reader->sequence->nodes();
    const auto lost = std::ranges::find(nodes, kLostPage, page_of);
    if (lost != nodes.end()) return Lost{reader, static_cast<size_t>(lost - nodes.begin())};
  }
  return std::nullopt;
}

std::vector<Request*> PageSpills::waiting(
    const std::function<bool(const Request&)>& in_flight) const {
  std::vector<Request*> waiting = readers();
  std::erase_if(waiting,
                [&](const Request* reader) { return in_flight(*reader) || is_ready(*reader); });
  return waiting;
}

std::optional<Error> PageSpills::why_stuck(const Request& reader,
                                           const std::optional<Error>& write_error) const {
  if (!reader.written_behind) {
    return not_found("chunks",
                     "a text of this prompt was deleted while it was computed, so its pages cannot "
                     "be kept on disk; the prompt is longer than the KV memory");
  }
  const std::optional<Error>& error = write_error ? write_error : error_;
  if (!error) return std::nullopt;
  return Error{error->code, error->field,
               "prompt and answer are longer than the KV memory (--kv-memory), and the disk cannot "
               "take the rest: " +
                   error->message};
}

}  // namespace cascade
