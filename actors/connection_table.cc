// Each tenant's idle connections, in the order in which they became idle.
#include "actors/connection_table.h"

#include <algorithm>

namespace cascade {

void ConnectionTable::add(Id id, int64_t until_us) {
  const auto [entry, added] = entries_.try_emplace(id, Entry{{}, until_us, false});
  if (added) list(id, entry->second);
}

template <class Change>
void ConnectionTable::change(Id id, int64_t until_us, const Change& what) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  unlist(id, entry);
  what(entry);
  entry.until_us = std::max(entry.until_us, until_us);
  list(id, entry);
}

void ConnectionTable::heard(Id id, const std::string& tenant, int64_t until_us) {
  change(id, until_us, [&](Entry& entry) { entry.tenant = tenant; });
}

void ConnectionTable::set_busy(Id id, bool busy, int64_t until_us) {
  change(id, until_us, [&](Entry& entry) { entry.busy = busy; });
}

void ConnectionTable::remove(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  unlist(id, found->second);
  entries_.erase(found);
}

void ConnectionTable::list(Id id, const Entry& entry) {
  Tenant& tenant = tenants_[entry.tenant];
  ++tenant.count;
  if (!entry.busy) tenant.idle.emplace(entry.until_us, id);
}

void ConnectionTable::unlist(Id id, const Entry& entry) {
  const auto tenant = tenants_.find(entry.tenant);
  tenant->second.idle.erase({entry.until_us, id});
  if (--tenant->second.count == 0) tenants_.erase(tenant);
}

size_t ConnectionTable::count(const std::string& tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : found->second.count;
}

std::optional<ConnectionTable::Id> ConnectionTable::next_to_go(int64_t now_us) const {
  const Tenant* most = nullptr;
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.idle.empty()) continue;
    if (most == nullptr || tenant.count > most->count) most = &tenant;
  }
  if (most == nullptr || most->idle.begin()->first > now_us) return std::nullopt;
  return most->idle.begin()->second;
}

}  // namespace cascade
