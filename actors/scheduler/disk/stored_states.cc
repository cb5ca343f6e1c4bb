// An index of names, and a search for checkpoints in memory that the store does not have.
#include "actors/scheduler/disk/stored_states.h"

#include <spdlog/spdlog.h>

#include <string>

#include "actors/scheduler/store_work.h"
#include "cache/chain_key.h"
#include "cache/kv_view.h"

namespace cascade {

StoredStates::StoredStates(bool keeps_states, const Clock& clock, Jobs& jobs, Outbox& outbox,
                           const ChainIndex& index, const Tenants& tenants, StateTable& states,
                           const StoredPages& pages)
    : keeps_states_(keeps_states),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      index_(index),
      tenants_(tenants),
      table_(states),
      pages_(pages),
      writing_(jobs, {Actor::kStore}, [this](PendingJobs<Writing>::All&& lost) {
        for (const auto& [number, writing] : lost) table_.release(writing.slot);
        searched_.reset();
      }) {}

void StoredStates::load(const wire::StoredPages& stored) {
  for (const wire::StoredPage& state : stored.states) {
    states_.add(*Digest::from_hex(state.key), *Digest::from_hex(state.parent), state.tokens);
  }
}

StoredStates::Found StoredStates::find(TenantId owner, std::span<const int32_t> tokens,
                                       const ChainIndex::Match& in_memory,
                                       int64_t more_than) const {
  if (states_.size() == 0 || !index_.tenant(owner).mode.is_stored()) return {};
  const size_t in_memory_pages = in_memory.pages.size();
  const Digest* const tenant = tenant_key_behind(index_, in_memory.node, owner);
  std::vector<Digest> on_disk =
      pages_.disk()
          .match(key_of(in_memory.node), tenant, tokens.subspan(in_memory_pages * kPageTokens))
          .keys;
  // A short page is read with the state that is in it.
  if (!on_disk.empty() && pages_.disk().is_short(on_disk.back())) on_disk.pop_back();
  const std::vector<ChainIndex::Node*> nodes = path_to(in_memory.node);
  // From the deepest whole page up to the root.
  for (size_t pages = in_memory_pages + on_disk.size() + 1; pages-- > 0;) {
    const size_t begin = pages * kPageTokens;
    if (static_cast<int64_t>(begin + kPageTokens) <= more_than) return {};
    const bool is_on_disk = pages > in_memory_pages;
    const ChainIndex::Node* node = nullptr;
    if (!is_on_disk) node = pages == 0 ? index_.root() : nodes[pages - 1];
    const Digest page = is_on_disk ? on_disk[pages - in_memory_pages - 1] : key_of(node);
    Found found = {0, page, {}};
    const auto in_page = states_.short_page(
        page, is_on_disk ? nullptr : tenant_key_behind(index_, node, owner), tokens.subspan(begin));
    if (in_page) {
      found.tokens = static_cast<int64_t>(begin) + in_page->tokens;
      found.key = in_page->keys.front();
    } else if (states_.contains(page)) {
      found.tokens = static_cast<int64_t>(begin);
    }
    if (found.tokens == 0) continue;
    if (found.tokens <= more_than) return {};
    on_disk.resize(is_on_disk ? pages - in_memory_pages : 0);
    found.pages = std::move(on_disk);
    return found;
  }
  return {};
}

StoredStates::Version StoredStates::version() const {
  return {table_.unstored_changes(), pages_.counters().pages_written};
}

bool StoredStates::is_idle() const {
  if (!keeps_states_ || table_.counts().checkpoints == 0) return writing_.empty();
  return writing_.empty() && searched_ == version();
}

// Whether the store may have a page with the state's last tokens, as far as names on disk tell.
bool StoredStates::may_be_covered(const StateTable::Unstored& state) const {
  if (!index_.tenant(state.tenant).mode.is_stored()) return false;
  return state.tail.empty() ? pages_.disk().contains(state.page)
                            : pages_.disk().has_children(state.page);
}

// nullopt: the index does not have the state's tokens any more.
std::optional<StoredStates::Name> StoredStates::name_of_state(
    const StateTable::Unstored& state) const {
  const bool is_root = state.page == key_of(index_.root());
  const ChainIndex::Node* const node = is_root ? index_.root() : index_.find(state.page);
  if (node == nullptr) return std::nullopt;
  if (state.tail.empty()) {
    const ChainIndex::PageName page = cascade::name_of(node);
    return Name{
        page.key, page.parent, page.owner, page.position, {page.tokens.begin(), page.tokens.end()}};
  }
  const int64_t position = is_root ? 0 : cascade::name_of(node).position + kPageTokens;
  const Digest key =
      chain_key(state.page, tenant_key_behind(index_, node, state.tenant), state.tail);
  return Name{key, state.page, state.tenant, position, {state.tail.begin(), state.tail.end()}};
}

void StoredStates::write_next() {
  if (is_idle() || !writing_.empty() || clock_.monotonic_us() < write_after_us_) return;
  const Version now = version();
  if (refused_pages_ != now.second) refused_.clear();
  refused_pages_ = now.second;
  std::optional<Writing> next;
  table_.visit_unstored([&](const StateTable::Unstored& state) {
    if (!may_be_covered(state)) return true;
    std::optional<Name> name = name_of_state(state);
    if (!name || refused_.contains(name->key)) return true;
    next = Writing{*std::move(name), state.slot};
    return false;
  });
  if (next) return send(std::move(next->name), next->slot);
  if (retries_) {  // the refused ones are tried again after a while
    retries_ = false;
    refused_.clear();
    write_after_us_ = clock_.monotonic_us() + kWriteRetryUs;
    return;
  }
  searched_ = now;
  if (refused_.empty()) error_.reset();
}

void StoredStates::send(Name&& name, StateTable::Slot slot) {
  table_.retain(slot);
  wire::StoreState message;
  message.job = jobs_.next();
  const std::string* const tenant = tenants_.name_of(name.owner);
  if (tenant != nullptr) message.tenant = *tenant;
  message.attention = index_.tenant(name.owner).mode;
  message.model = key_of(index_.root()).hex();
  message.key = name.key.hex();
  message.parent = name.parent.hex();
  message.position = name.position;
  message.token_ids = name.tokens;
  message.slot = slot;
  writing_.put(message.job, {std::move(name), slot});
  outbox_.send(Actor::kStore, std::move(message));
}

void StoredStates::on(const wire::StateStored& done) {
  const std::optional<Writing> writing = writing_.take(done.job);
  if (!writing) return;  // of an earlier incarnation of the store
  table_.release(writing->slot);
  const Name& name = writing->name;
  if (done.stored && !done.error) {
    if (error_) spdlog::info("states are written again");
    error_.reset();
    if (!states_.contains(name.key)) ++written_;
    states_.add(name.key, name.parent, static_cast<int32_t>(name.tokens.size()));
    table_.mark_stored(writing->slot);
    return;
  }
  refused_.insert(name.key);
  if (!done.error) return;
  if (!error_) spdlog::warn("a state is not written: {}", done.error->to_string());
  error_ = done.error;
  // It is tried again when more pages have been written.
  if (done.error->field == "max_state_disk") return;
  retries_ = true;
  write_after_us_ = clock_.monotonic_us() + kWriteRetryUs;
}

void StoredStates::on(const wire::StatesForgotten& forgotten) {
  for (const std::string& key : forgotten.keys) states_.remove(*Digest::from_hex(key));
}

}  // namespace cascade
