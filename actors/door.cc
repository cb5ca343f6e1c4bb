// The name of a port consists of a prefix for its door, and the tenant.
#include "actors/door.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace cascade {
namespace {

constexpr std::array<std::pair<Door, std::string_view>, 3> kDoorPrefixes = {
    {{Door::kIpc, "gateway:"}, {Door::kHttp, "http:"}, {Door::kTcp, "tcp:"}}};

}  // namespace

std::string door_name(Door door, const std::string& tenant) {
  for (const auto& [known, prefix] : kDoorPrefixes) {
    if (known == door) return std::string(prefix) + tenant;
  }
  CHECK(false);
}

std::optional<TenantDoor> door_of(std::string_view name) {
  for (const auto& [door, prefix] : kDoorPrefixes) {
    if (name.starts_with(prefix)) return TenantDoor{door, std::string(name.substr(prefix.size()))};
  }
  return std::nullopt;
}

}  // namespace cascade
