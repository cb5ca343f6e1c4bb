// The keywords of JSON Schema: which we know, which we refuse, and what their values must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// Sets of types, as bits. "number" is kInteger and kFraction.
namespace schema_types {
inline constexpr uint32_t kNull = 1, kBoolean = 2, kInteger = 4, kFraction = 8, kString = 16,
                          kArray = 32, kObject = 64, kAll = 127;
}  // namespace schema_types

// Checks one schema, without those within it. Errors: kInvalidArgument, the keyword as field.
Status check_keywords(const OrderedJson& schema, bool is_root);

// Precondition of the rest: check_keywords() found the schemas right.

// Whether a keyword of this name can make a value invalid.
bool is_demand(std::string_view name);
// The member of this name, or null.
const OrderedJson* keyword(const OrderedJson& schema, const char* name);
// The types that `type` (and `nullable`) states; nullopt without `type`.
std::optional<uint32_t> stated_types(const OrderedJson& schema);
// The types that the schema's keywords are about; 0 if no keyword is about certain types.
uint32_t implied_types(const OrderedJson& schema);
// The types that a keyword is about; all types if it is about values of any type.
uint32_t types_spoken_of(std::string_view keyword);
uint32_t type_of(const OrderedJson& value);
// A length or a count; UINT32_MAX for larger ones.
std::optional<uint32_t> count_keyword(const OrderedJson& schema, const char* name);
// Equal as JSON values: numbers by value, objects in any order.
bool same_value(const OrderedJson& a, const OrderedJson& b);

}  // namespace cascade
