// Enumerations travel by name. Each has one pair of functions, found by overloading on the type.
#pragma once

#include <optional>
#include <string_view>

#include "wire/messages.h"

namespace cascade::wire {

inline std::string_view enum_name(ChunkType value) {
  return to_string(value);
}
inline std::string_view enum_name(ThinkPolicy value) {
  return to_string(value);
}
inline std::string_view enum_name(Approximation value) {
  return to_string(value);
}
inline std::string_view enum_name(HolderKind value) {
  return to_string(value);
}
inline std::string_view enum_name(OnMissing value) {
  return to_string(value);
}
inline std::string_view enum_name(OnOverflow value) {
  return to_string(value);
}
inline std::string_view enum_name(KvState value) {
  return to_string(value);
}
inline std::string_view enum_name(MissReason value) {
  return to_string(value);
}
inline std::string_view enum_name(ErrorCode value) {
  return to_string(value);
}
inline std::string_view enum_name(GrammarKind value) {
  return to_string(value);
}
inline std::string_view enum_name(EventKind value) {
  return to_string(value);
}
inline std::string_view enum_name(TextStart value) {
  return to_string(value);
}
std::string_view enum_name(EncodeJob::Mode value);  // "prompt", "history", "beginning", ...

// Returns false, and leaves `value` as it is, if no enumerator has the name.
bool enum_from_name(std::string_view name, ChunkType& value);
bool enum_from_name(std::string_view name, ThinkPolicy& value);
bool enum_from_name(std::string_view name, Approximation& value);
bool enum_from_name(std::string_view name, HolderKind& value);
bool enum_from_name(std::string_view name, OnMissing& value);
bool enum_from_name(std::string_view name, OnOverflow& value);
bool enum_from_name(std::string_view name, KvState& value);
bool enum_from_name(std::string_view name, MissReason& value);
bool enum_from_name(std::string_view name, ErrorCode& value);
bool enum_from_name(std::string_view name, GrammarKind& value);
bool enum_from_name(std::string_view name, EventKind& value);
bool enum_from_name(std::string_view name, TextStart& value);
bool enum_from_name(std::string_view name, EncodeJob::Mode& value);

}  // namespace cascade::wire
