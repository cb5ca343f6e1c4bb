// The names of the values of TextStart.
#include "base/text_start.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<TextStart, 3> kTextStarts = {{
    {TextStart::kFirst, "first"},
    {TextStart::kNone, "none"},
    {TextStart::kEach, "each"},
}};

}  // namespace

std::string_view to_string(TextStart start) {
  return name_of(kTextStarts, start);
}

std::optional<TextStart> text_start_from_string(std::string_view name) {
  return value_of(kTextStarts, name);
}

}  // namespace cascade
