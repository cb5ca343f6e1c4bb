// Names of the kinds of holders, as used on the wire and in the store.
#include "base/holder.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<HolderKind, 5> kHolderKinds = {{
    {HolderKind::kRetention, "retention"},
    {HolderKind::kRequest, "request"},
    {HolderKind::kName, "name"},
    {HolderKind::kSession, "session"},
    {HolderKind::kPin, "pin"},
}};

}  // namespace

std::string_view to_string(HolderKind kind) {
  return name_of(kHolderKinds, kind);
}

std::optional<HolderKind> holder_kind_from_string(std::string_view name) {
  return value_of(kHolderKinds, name);
}

}  // namespace cascade
