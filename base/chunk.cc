// Names of the chunk enumerations, as used on the wire and in the store.
#include "base/chunk.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<ChunkType, 5> kTypeNames = {{
    {ChunkType::kSystemPrompt, "SYSTEM_PROMPT"},
    {ChunkType::kContext, "CONTEXT"},
    {ChunkType::kOutput, "OUTPUT"},
    {ChunkType::kQuery, "QUERY"},
    {ChunkType::kSummary, "SUMMARY"},
}};

constexpr EnumTable<ThinkPolicy, 5> kThinkPolicies = {{
    {ThinkPolicy::kReprefill, "reprefill"},
    {ThinkPolicy::kKeep, "keep"},
    {ThinkPolicy::kDrop, "drop"},
    {ThinkPolicy::kSplice, "splice"},
    {ThinkPolicy::kMask, "mask"},
}};

constexpr EnumTable<OnMissing, 2> kOnMissing = {{
    {OnMissing::kError, "error"},
    {OnMissing::kSkip, "skip"},
}};

constexpr EnumTable<KvState, 3> kKvStates = {{
    {KvState::kNone, "none"},
    {KvState::kPending, "pending"},
    {KvState::kReady, "ready"},
}};

}  // namespace

std::string_view to_string(ChunkType type) {
  return name_of(kTypeNames, type);
}

std::optional<ChunkType> chunk_type_from_string(std::string_view name) {
  return value_of(kTypeNames, name);
}

int cascade_level(ChunkType type) {
  switch (type) {
    case ChunkType::kSystemPrompt: return 0;
    case ChunkType::kContext:
    case ChunkType::kSummary:
    case ChunkType::kOutput: return 1;
    case ChunkType::kQuery: return 2;
  }
  check_failed(__FILE__, __LINE__, "a chunk type has a level");
}

std::string_view to_string(ThinkPolicy policy) {
  return name_of(kThinkPolicies, policy);
}

std::optional<ThinkPolicy> think_policy_from_string(std::string_view name) {
  return value_of(kThinkPolicies, name);
}

Approximation approximation_of(ThinkPolicy policy) {
  switch (policy) {
    case ThinkPolicy::kReprefill:
    case ThinkPolicy::kKeep:
    case ThinkPolicy::kDrop: return Approximation::kNone;
    case ThinkPolicy::kSplice: return Approximation::kSplice;
    case ThinkPolicy::kMask: return Approximation::kMask;
  }
  check_failed(__FILE__, __LINE__, "a think policy has an approximation");
}

std::string_view to_string(OnMissing choice) {
  return name_of(kOnMissing, choice);
}

std::optional<OnMissing> on_missing_from_string(std::string_view name) {
  return value_of(kOnMissing, name);
}

std::string_view to_string(KvState state) {
  return name_of(kKvStates, state);
}

std::optional<KvState> kv_state_from_string(std::string_view name) {
  return value_of(kKvStates, name);
}

}  // namespace cascade
