// States follow their covers: the database of the pages notes which pages are removed.
#include "persist/chain_states.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cascade {
namespace {

constexpr char kStatesFolder[] = "states";

// When the budget is full, 1 / kFreedShare of it is freed at once: else every later state would
// wait for a commit of its own removals.
constexpr uint64_t kFreedShare = 64;

bool covers(const KvPageHeader& page, const KvPageHeader& state) {
  const auto count = state.token_ids.size();
  return page.tenant == state.tenant && page.attention == state.attention &&
         page.token_ids.size() >= count &&
         std::ranges::equal(std::span(page.token_ids).first(count), state.token_ids);
}

Error too_large(const KvPageHeader& state, const KvStore& kv) {
  return resource_exhausted("max_state_disk",
                            "states take " + std::to_string(kv.bytes_on_disk()) + " of " +
                                std::to_string(kv.options().disk_bytes_max) + " bytes, and " +
                                std::to_string(state.record_bytes()) +
                                " more do not fit beside those that stay");
}

std::string folder_beside(const Store& pages) {
  return pages.directory().path() + "/" + kStatesFolder;
}

}  // namespace

ChainStates::ChainStates(Store& pages, std::unique_ptr<Store> states)
    : pages_(pages),
      states_(std::move(states)),
      page_rows_(pages.database()),
      page_links_(pages.database()),
      rows_(states_->database()),
      links_(states_->database()) {}

bool ChainStates::exists(const Store& pages) {
  struct stat status = {};
  return pages.directory().calls().path_status(folder_beside(pages), status) == 0;
}

Result<std::unique_ptr<ChainStates>> ChainStates::open(Store& pages, const KvOptions& options) {
  Findings findings;
  const StateDirectory& directory = pages.directory();
  RETURN_IF_ERROR(make_folder_of_copies(directory.calls(), directory.path(), kStatesFolder,
                                        "states", findings));
  StoreOptions store_options;
  store_options.kv = options;
  ASSIGN_OR_RETURN(auto store, Store::open(directory.calls(), folder_beside(pages), store_options));
  findings.insert(findings.end(), store->findings().begin(), store->findings().end());
  std::unique_ptr<ChainStates> states(new ChainStates(pages, std::move(store)));
  states->findings_ = std::move(findings);
  RETURN_IF_ERROR(states->start());
  return states;
}

Status ChainStates::start() {
  RETURN_IF_ERROR(page_links_.watch_removals());
  ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, rows_.models());
  std::vector<Digest> keys;
  for (const ModelRecord& model : models) {
    ASSIGN_OR_RETURN(const std::vector<StoredPage> states, rows_.of_model(model.digest));
    for (const StoredPage& state : states) keys.push_back(state.header.key);
  }
  RETURN_IF_ERROR(remove_uncovered(keys));
  RETURN_IF_ERROR(states_->commit());
  // The budget may have become smaller.
  if (const auto made = make_room(0); !made.ok()) return made.error();
  RETURN_IF_ERROR(links_.watch_removals());
  pages_.set_before_commit([this] { return commit(); });
  return {};
}

ChainStates::~ChainStates() {
  pages_.set_before_commit({});
}

Result<std::optional<StoredPage>> ChainStates::cover_of(const KvPageHeader& state) {
  ASSIGN_OR_RETURN(auto same, page_rows_.find(state.key));
  if (same) return same;
  ASSIGN_OR_RETURN(const std::vector<Digest> keys, page_links_.after(state.parent));
  for (const Digest& key : keys) {
    ASSIGN_OR_RETURN(auto page, page_rows_.find(key));
    if (page && covers(page->header, state)) return page;
  }
  return std::optional<StoredPage>();
}

Result<bool> ChainStates::put(const StateRecord& state, int64_t now_us) {
  KvPageHeader header;
  header.key = state.key;
  header.parent = state.parent;
  header.tenant = state.tenant;
  header.attention = state.attention;
  header.token_ids.assign(state.token_ids.begin(), state.token_ids.end());
  ASSIGN_OR_RETURN(const auto cover, cover_of(header));
  if (!cover) return false;
  const RunPage page = {state.key, state.token_ids, state.bytes.data()};
  PageRun run;
  run.tenant = state.tenant;
  run.model = state.model;
  run.parent = state.parent;
  run.position = state.position;
  run.page_bytes = state.bytes.size();
  run.pages = {&page, 1};
  run.attention = state.attention;
  Status stored = states_->kv().append(run, now_us);
  const bool is_full = !stored.ok() && stored.error().code == ErrorCode::kResourceExhausted &&
                       stored.error().field == "max_disk";
  if (is_full) {
    header.stored_bytes = run.page_bytes;
    // The state may be the first one of a file.
    ASSIGN_OR_RETURN(const bool made, make_room(header.record_bytes() + kKvBlockBytes));
    stored = made ? states_->kv().append(run, now_us) : too_large(header, states_->kv());
  }
  if (!stored.ok()) return stored.error();
  unsettled_.push_back(state.key);
  (void)states_->kv().touch({&state.key, 1}, now_us).ok();  // only the order of removals suffers
  return true;
}

// False, and nothing is removed, if that would not be enough.
Result<bool> ChainStates::make_room(uint64_t bytes) {
  std::set<Digest> kept;
  ASSIGN_OR_RETURN(const std::vector<Digest> chains, pages_.chunks().pinned_chains());
  ASSIGN_OR_RETURN(const std::vector<Digest> texts, pages_.kv().pinned_texts());
  kept.insert(chains.begin(), chains.end());
  kept.insert(texts.begin(), texts.end());
  KvStore& kv = states_->kv();
  const uint64_t max = kv.options().disk_bytes_max;
  const uint64_t wanted = kv.bytes_on_disk() + bytes;
  const uint64_t excess = wanted - std::min(wanted, max);
  if (excess == 0) return true;
  ASSIGN_OR_RETURN(const std::vector<Digest> oldest,
                   links_.unused_longest(std::max(excess, max / kFreedShare), kept));
  uint64_t freed = 0;
  for (const Digest& key : oldest) {
    ASSIGN_OR_RETURN(const auto state, rows_.find(key));
    if (state) freed += state->place.length;
  }
  if (freed < excess) return false;
  RETURN_IF_ERROR(kv.remove(oldest));
  RETURN_IF_ERROR(states_->commit());
  return true;
}

Result<KvPageHeader> ChainStates::header_of(const Digest& key) {
  ASSIGN_OR_RETURN(auto state, rows_.find(key));
  if (!state) return not_found("state", "is not stored");
  return std::move(state->header);
}

Result<bool> ChainStates::contains(const Digest& key) {
  ASSIGN_OR_RETURN(const auto state, rows_.find(key));
  return state.has_value();
}

Status ChainStates::read(const Digest& key, std::span<const int32_t> token_ids,
                         std::span<uint8_t> to, int64_t now_us) {
  const PageRead state = {key, token_ids, to.data()};
  const PagesRead read = states_->kv().read(to.size(), {&state, 1});
  if (read.error) return *read.error;
  (void)states_->kv().touch({&key, 1}, now_us).ok();
  return {};
}

Result<std::vector<int32_t>> ChainStates::read_cover(const Digest& key, uint64_t page_bytes,
                                                     std::span<const uint32_t> parts, uint8_t* to) {
  ASSIGN_OR_RETURN(const KvPageHeader state, header_of(key));
  ASSIGN_OR_RETURN(auto cover, cover_of(state));
  if (!cover) return not_found("page", "is not stored");
  const PageRead page = {cover->header.key, cover->header.token_ids, to};
  const PagesRead read = pages_.kv().read(page_bytes, {&page, 1}, parts);
  if (read.error) return *read.error;
  return std::move(cover->header.token_ids);
}

Status ChainStates::remove_uncovered(std::span<const Digest> keys) {
  for (const Digest& key : keys) {
    ASSIGN_OR_RETURN(const auto state, rows_.find(key));
    if (!state) continue;
    ASSIGN_OR_RETURN(const auto cover, cover_of(state->header));
    if (!cover) RETURN_IF_ERROR(states_->kv().remove({&key, 1}));
  }
  return {};
}

// The states that a page covers have the same parent as the page.
Status ChainStates::follow_pages() {
  RETURN_IF_ERROR(remove_uncovered(unsettled_));
  ASSIGN_OR_RETURN(const std::vector<PageLink> removed, page_links_.removed());
  if (removed.empty()) return {};
  std::set<Digest> parents;
  for (const PageLink& page : removed) parents.insert(page.parent);
  for (const Digest& parent : parents) {
    ASSIGN_OR_RETURN(const std::vector<Digest> states, links_.after(parent));
    RETURN_IF_ERROR(remove_uncovered(states));
  }
  return page_links_.forget_removed();
}

Status ChainStates::commit() {
  // If the pages have no changes, all of them are durable.
  const bool pages_are_durable = !pages_.database().has_changes();
  Status done = follow_pages();
  if (done.ok()) done = states_->commit();
  if (!done.ok()) {
    (void)rollback().ok();
    return done;
  }
  if (pages_are_durable) unsettled_.clear();
  return {};
}

Result<std::vector<Digest>> ChainStates::take_removed() {
  ASSIGN_OR_RETURN(const std::vector<PageLink> removed, links_.removed());
  std::vector<Digest> keys;
  for (const PageLink& state : removed) keys.push_back(state.key);
  if (!keys.empty()) RETURN_IF_ERROR(links_.forget_removed());
  return keys;
}

}  // namespace cascade
