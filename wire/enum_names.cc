// Names of enumerations, from the types' own functions.
#include "wire/enum_names.h"

namespace cascade::wire {
namespace {

template <class E>
bool assign(std::optional<E> found, E& value) {
  if (!found.has_value()) return false;
  value = *found;
  return true;
}

}  // namespace

std::string_view enum_name(EncodeJob::Mode value) {
  switch (value) {
    case EncodeJob::Mode::kPrompt: return "prompt";
    case EncodeJob::Mode::kHistory: return "history";
    case EncodeJob::Mode::kBeginning: return "beginning";
    case EncodeJob::Mode::kRaw: return "raw";
    case EncodeJob::Mode::kText: return "text";
  }
  check_failed(__FILE__, __LINE__, "a mode has a name");
}

bool enum_from_name(std::string_view name, ChunkType& value) {
  return assign(chunk_type_from_string(name), value);
}

bool enum_from_name(std::string_view name, ThinkPolicy& value) {
  return assign(think_policy_from_string(name), value);
}

bool enum_from_name(std::string_view name, Approximation& value) {
  return assign(approximation_from_string(name), value);
}

bool enum_from_name(std::string_view name, HolderKind& value) {
  return assign(holder_kind_from_string(name), value);
}

bool enum_from_name(std::string_view name, OnMissing& value) {
  return assign(on_missing_from_string(name), value);
}

bool enum_from_name(std::string_view name, OnOverflow& value) {
  return assign(on_overflow_from_string(name), value);
}

bool enum_from_name(std::string_view name, KvState& value) {
  return assign(kv_state_from_string(name), value);
}

bool enum_from_name(std::string_view name, MissReason& value) {
  return assign(miss_reason_from_string(name), value);
}

bool enum_from_name(std::string_view name, ErrorCode& value) {
  return assign(error_code_from_string(name), value);
}

bool enum_from_name(std::string_view name, GrammarKind& value) {
  return assign(grammar_kind_from_string(name), value);
}

bool enum_from_name(std::string_view name, EventKind& value) {
  return assign(event_kind_from_string(name), value);
}

bool enum_from_name(std::string_view name, TextStart& value) {
  return assign(text_start_from_string(name), value);
}

bool enum_from_name(std::string_view name, EncodeJob::Mode& value) {
  using Mode = EncodeJob::Mode;
  for (const Mode mode :
       {Mode::kPrompt, Mode::kHistory, Mode::kBeginning, Mode::kRaw, Mode::kText}) {
    if (enum_name(mode) != name) continue;
    value = mode;
    return true;
  }
  return false;
}

}  // namespace cascade::wire
