// An owner's number is never used again.
#include "actors/scheduler/tenants.h"

#include <utility>

#include "model/attention_mode.h"

namespace cascade {

Tenants::Tenants(ChainIndex& index, std::function<Digest(const std::string&)> root_key,
                 std::vector<int> layer_windows)
    : index_(index), root_key_(std::move(root_key)), layer_windows_(std::move(layer_windows)) {}

TenantId Tenants::id(const std::string& name, const AttentionMode& mode) {
  if (const auto found = find(name, mode)) return *found;
  const Digest key = root_key_(name);
  const TenantId id = mode.is_dense()
                          ? index_.add_tenant(key)
                          : index_.add_tenant(sha256(key.hex() + to_string(mode)), widest(mode));
  names_[id] = name;
  return owners_[name][mode] = id;
}

Result<TenantId> Tenants::add(const std::string& name, const AttentionMode& mode) {
  const auto owners = owners_.find(name);
  const bool is_new = !mode.is_dense() && owners != owners_.end() && !owners->second.contains(mode);
  if (is_new && owners->second.size() - owners->second.count(AttentionMode{}) >= kModesMax) {
    return resource_exhausted("attention", "this tenant has used " + std::to_string(kModesMax) +
                                               " different attention modes beside \"dense\" since "
                                               "the daemon started, which is the limit; use one "
                                               "of them, or \"dense\"");
  }
  return id(name, mode);
}

std::optional<TenantId> Tenants::find(const std::string& name, const AttentionMode& mode) const {
  const auto owners = owners_.find(name);
  if (owners == owners_.end()) return std::nullopt;
  const auto found = owners->second.find(mode);
  if (found == owners->second.end()) return std::nullopt;
  return found->second;
}

std::vector<TenantId> Tenants::owners(const std::string& name) const {
  std::vector<TenantId> ids;
  const auto owners = owners_.find(name);
  if (owners == owners_.end()) return ids;
  for (const auto& [mode, id] : owners->second) ids.push_back(id);
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
