// Names of the reasons why a part of a prompt had to be computed.
#include "base/miss.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<MissReason, 10> kMissReasons = {{
    {MissReason::kNone, "none"},
    {MissReason::kNew, "new"},
    {MissReason::kDiffers, "differs"},
    {MissReason::kEvicted, "evicted"},
    {MissReason::kDropped, "dropped"},
    {MissReason::kDeleted, "deleted"},
    {MissReason::kExpired, "expired"},
    {MissReason::kOtherModel, "other_model"},
    {MissReason::kNoState, "no_state"},
    {MissReason::kReuseOff, "reuse_off"},
}};

}  // namespace

std::string_view to_string(MissReason reason) {
  return name_of(kMissReasons, reason);
}

std::optional<MissReason> miss_reason_from_string(std::string_view name) {
  return value_of(kMissReasons, name);
}

}  // namespace cascade
