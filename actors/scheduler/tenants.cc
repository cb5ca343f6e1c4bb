// An owner's number is never used again.
#include "actors/scheduler/tenants.h"

#include <algorithm>
#include <utility>

#include "model/attention_mode.h"

namespace cascade {

Tenants::Tenants(ChainIndex& index, std::function<Digest(const std::string&)> root_key,
                 std::vector<int> layer_windows, const AttentionMode& own_mode)
    : index_(index),
      root_key_(std::move(root_key)),
      layer_windows_(std::move(layer_windows)),
      own_mode_(own_mode) {}

TenantId Tenants::id(const std::string& name, const AttentionMode& mode) {
  if (const auto found = find(name, mode)) return *found;
  const Digest key = root_key_(name);
  // K and V on disk are found by this key: it must become another one if the mode's bits do.
  const TenantId exact = mode.is_approximate() ? this->id(name, mode.exact()) : kPublic;
  const TenantId id =
      mode.is_dense() ? index_.add_tenant(key)
                      : index_.add_tenant(sha256(key.hex() + to_string(mode)), widest(mode), exact);
  names_[id] = name;
  return owners_[name][mode] = id;
}

Result<TenantId> Tenants::add(const std::string& name, const AttentionMode& mode) {
  const auto is_chosen = [this](const AttentionMode& of) {
    return !of.is_dense() && of != own_mode_;
  };
  if (const auto known = find(name, mode); known || !is_chosen(mode)) return id(name, mode);
  if (chosen_[name] < kModesMax) {
    ++chosen_[name];
    return id(name, mode);
  }
  return resource_exhausted(
      "attention", "this tenant has used " + std::to_string(kModesMax) +
                       " other attention modes since the daemon started, which is the limit; use "
                       "one of them, or \"" +
                       (own_mode_.is_dense() ? "" : to_string(own_mode_) + "\" or \"") + "dense\"");
}

std::optional<TenantId> Tenants::find(const std::string& name, const AttentionMode& mode) const {
  const auto owners = owners_.find(name);
  if (owners == owners_.end()) return std::nullopt;
  const auto found = owners->second.find(mode);
  if (found == owners->second.end()) return std::nullopt;
  return found->second;
}

size_t Tenants::pinned_unwritten() const {
  size_t pages = 0;
  for (const auto& [name, owners] : owners_) {
    for (const auto& [mode, id] : owners) {
      if (!mode.is_stored()) pages += index_.tenant(id).pinned;
    }
  }
  return pages;
}

std::vector<TenantId> Tenants::owners(const std::string& name) const {
  std::vector<TenantId> ids;
  const auto owners = owners_.find(name);
  if (owners == owners_.end()) return ids;
  for (const auto& [mode, id] : owners->second) ids.push_back(id);
  std::ranges::stable_partition(ids,
                                [&](TenantId id) { return index_.tenant(id).base != kPublic; });
  return ids;
}

const std::string* Tenants::name_of(TenantId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? nullptr : &found->second;
}

AttentionMode Tenants::widest(const AttentionMode& mode) const {
  return widest_mode(mode, layer_windows_);
}

}  // namespace cascade
