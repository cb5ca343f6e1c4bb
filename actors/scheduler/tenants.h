// Tenants by name and by number.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"
#include "cache/chain_index.h"

namespace cascade {

// One thread. Names come from the daemon's options, so there are few.
class Tenants {
 public:
  // `root_key` gives the key before the first page of a tenant's chains. `index`, which numbers the
  // tenants, outlives this.
  Tenants(ChainIndex& index, std::function<Digest(const std::string&)> root_key)
      : index_(index), root_key_(std::move(root_key)) {}

  // The tenant's number; a tenant that has none gets one.
  TenantId id(const std::string& name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const TenantId id = index_.add_tenant(root_key_(name));
    names_[id] = name;
    return ids_[name] = id;
  }
  // nullopt: the tenant has no chains.
  std::optional<TenantId> find(const std::string& name) const {
    const auto found = ids_.find(name);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // nullptr: the number is kPublic, or is not a tenant's.
  const std::string* name_of(TenantId id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  ChainIndex& index_;
  std::function<Digest(const std::string&)> root_key_;
  std::map<std::string, TenantId> ids_;
  std::map<TenantId, std::string> names_;
};

}  // namespace cascade
