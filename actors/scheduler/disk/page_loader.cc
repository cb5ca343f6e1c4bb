// A load asks the store for some pages at a time.
#include "actors/scheduler/disk/page_loader.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace cascade {
namespace {

constexpr size_t kPagesLoadedAtOnceMax = 128;

// The cost of a load besides its bytes, and the speed of the disk until it has been measured.
constexpr double kLoadOverheadUs = 500;
constexpr double kBytesPerUsGuess = 500;
constexpr double kNewSpeedWeight = 0.25;

}  // namespace

PageLoader::PageLoader(Jobs& jobs, Outbox& outbox, const ChainIndex& index, StoredPages& stored,
                       size_t page_bytes, const SpeedEstimate& speed, Loaded loaded)
    : jobs_(jobs),
      outbox_(outbox),
      index_(index),
      stored_(stored),
      page_bytes_(page_bytes),
      speed_(speed),
      loaded_(std::move(loaded)),
      loads_(jobs, {Actor::kStore}, [this](PendingJobs<Load>::All&& lost) {
        // Nobody writes to the pages any more.
        for (auto& [number, load] : lost) note_loaded(std::move(load), 0);
      }) {}

DiskIndex::Match PageLoader::worth_loading(TenantId owner, std::span<const int32_t> wanted,
                                           const ChainIndex::Match& found) const {
  const bool is_written = index_.tenant(owner).mode.is_stored();
  if (!is_written || stored_.disk().size() == 0) return {};
  const auto begin = found.pages.size() * kPageTokens;
  DiskIndex::Match stored = stored_.disk().match(
      key_of(found.node), tenant_key_behind(index_, found.node, owner), wanted.subspan(begin));
  const int64_t tokens = stored.tokens - found.partial_tokens;
  return is_quicker(stored.keys.size(), 0, tokens) ? stored : DiskIndex::Match();
}

bool PageLoader::is_quicker(size_t pages, size_t other_bytes, int64_t tokens) const {
  const double bytes = static_cast<double>(pages * page_bytes_ + other_bytes);
  const double load_us =
      kLoadOverheadUs + bytes / (bytes_per_us_ > 0 ? bytes_per_us_ : kBytesPerUsGuess);
  const double token_us = speed_.prefill_token_us();
  return tokens > 0 && (token_us <= 0 || load_us < static_cast<double>(tokens) * token_us);
}

bool PageLoader::start(ChainSequence& sequence, uint64_t handle, std::span<const int32_t> wanted,
                       const DiskIndex::Match& stored) {
  const int64_t begin = sequence.committed();
  if (stored.tokens == 0 || !sequence.reserve(begin + stored.tokens)) return false;
  const auto tokens =
      wanted.subspan(static_cast<size_t>(begin), static_cast<size_t>(stored.tokens));
  const auto first_page = static_cast<size_t>(begin / kPageTokens);
  read(handle, stored.keys, tokens, std::span(sequence.pages()).subspan(first_page));
  return true;
}

void PageLoader::read(uint64_t handle, std::vector<Digest> keys, std::span<const int32_t> tokens,
                      std::span<const PageIndex> pages) {
  Load load;
  load.handle = handle;
  load.keys = std::move(keys);
  load.tokens.assign(tokens.begin(), tokens.end());
  load.pages.assign(pages.begin(), pages.end());
  ask(std::move(load));
}

// Asks the store for the next pages.
void PageLoader::ask(Load&& load) {
  wire::LoadPages message;
  message.job = jobs_.next();
  const size_t count = std::min(kPagesLoadedAtOnceMax, load.keys.size() - load.done);
  for (size_t i = load.done; i < load.done + count; ++i) {
    const auto begin = load.tokens.begin() + static_cast<ptrdiff_t>(i * kPageTokens);
    const auto left = load.tokens.end() - begin;
    message.pages.push_back({load.keys[i].hex(),
                             {begin, begin + std::min<ptrdiff_t>(kPageTokens, left)},
                             load.pages[i]});
  }
  load.asked = count;
  loads_.put(message.job, std::move(load));
  outbox_.send(Actor::kStore, std::move(message));
}

void PageLoader::note_speed(size_t bytes, int64_t us) {
  const double speed = static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, us));
  bytes_per_us_ =
      bytes_per_us_ <= 0 ? speed : bytes_per_us_ * (1 - kNewSpeedWeight) + speed * kNewSpeedWeight;
}

void PageLoader::on(const wire::LoadPagesDone& done) {
  std::optional<Load> load = loads_.take(done.job);
  if (!load) return;  // of an earlier incarnation of the store
  const auto good = static_cast<size_t>(done.good);
  stored_.count_loaded(done.good);
  if (done.good > 0) note_speed(good * page_bytes_, done.load_us);
  if (good < load->asked) {
    if (done.error) spdlog::warn("a page is computed again: {}", done.error->to_string());
    if (done.error && done.error->code == ErrorCode::kDataCorrupt) stored_.count_bad();
    stored_.note_gone(load->keys[load->done + good]);
  }
  note_loaded(*std::move(load), good);
}

// `good` more pages are in memory. Asks the store for those that are left, if they are wanted.
void PageLoader::note_loaded(Load&& load, size_t good) {
  const size_t begin = load.done * kPageTokens;
  const size_t count = std::min(good * kPageTokens, load.tokens.size() - begin);
  const bool more = good == load.asked && load.done + good < load.keys.size();
  load.done += good;
  const bool goes_on = loaded_(load.handle, std::span(load.tokens).subspan(begin, count), more);
  if (more && goes_on) ask(std::move(load));
}

void PageLoader::prefetch(const std::vector<const ChunkEntry*>& used) {
  std::set<Digest> wanted;
  std::vector<Digest> keys;  // the ends of chains first
  // Turns of one conversation have most of their pages in common.
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
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) message.keys.push_back(key->hex());
  outbox_.send(Actor::kStore, std::move(message));
}

}  // namespace cascade
