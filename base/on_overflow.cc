// Names as used on the wire and in the store.
#include "base/on_overflow.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<OnOverflow, 4> kOnOverflow = {{
    {OnOverflow::kError, "error"},
    {OnOverflow::kDropOldest, "drop_oldest"},
    {OnOverflow::kRetrieve, "retrieve"},
    {OnOverflow::kSummarize, "summarize"},
}};

}  // namespace

std::string_view to_string(OnOverflow choice) {
  return name_of(kOnOverflow, choice);
}

std::optional<OnOverflow> on_overflow_from_string(std::string_view name) {
  return value_of(kOnOverflow, name);
}

}  // namespace cascade
