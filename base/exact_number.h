// JSON numbers that neither 64-bit integers nor f64 can hold.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade {

// The largest number of characters of an exact number, its sign included.
inline constexpr size_t kExactNumberBytesMax = 1024;

// An integer beyond 64 bits, or a number beyond f64 (1e400), in a tree that parse_ordered_json()
// made: its text is kept. nlohmann's tree holds it as a binary value, which JSON text can never
// contain, so is_number() is false for it.
OrderedJson exact_number(std::string_view text);
bool is_exact_number(const OrderedJson& json);
// The text of the number. Precondition: is_exact_number().
std::string exact_number_text(const OrderedJson& json);

// Whether `json` is a number, exact or not.
bool is_any_number(const OrderedJson& json);
// The nearest f64; infinite for numbers beyond f64. Precondition: is_any_number().
double nearest_double(const OrderedJson& json);
// Like nlohmann's type_name(), but an exact number is a "number".
const char* type_name_of(const OrderedJson& json);

// `json` as compact text, with the digits of exact numbers. Bytes that are not UTF-8 become U+FFFD.
std::string dump_exact(const OrderedJson& json);

}  // namespace cascade
