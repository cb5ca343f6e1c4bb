// The ways in which a request can specify the form of its output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class GrammarKind : uint8_t {
  kJsonObject,  // any JSON object
  kJsonSchema,  // a document that is valid under a JSON schema
  kParts,       // literal text and JSON documents in sequence, choice and repetition
};

// "json_object", "json_schema", "parts".
std::string_view to_string(GrammarKind kind);
// The inverse; nullopt for an unknown name.
std::optional<GrammarKind> grammar_kind_from_string(std::string_view name);

// The largest text of a schema, in bytes. Calls of hundreds of tools are one schema; OpenAI's limit
// is 120,000 characters.
inline constexpr size_t kGrammarBytesMax = size_t{1} << 20;

}  // namespace cascade
