// The holders that keep a chunk: plain data. cache/holders.h has what holders do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cascade {

enum class HolderKind {
  kRetention,  // a client registered the chunk, or retained the output
  kRequest,    // a request included the text
  kName,       // a client gave the chunk a name; `label` is the name
  kSession,    // the chunk is a turn of a session; `label` is the session's id
  kPin,        // a client pinned the chunk
};

std::string_view to_string(HolderKind kind);  // "retention", "request", "name", "session", "pin"
std::optional<HolderKind> holder_kind_from_string(std::string_view name);

// A chunk lives as long as at least one holder does. Each holder ends on its own, by the terms that
// it was given.
struct Holder {
  HolderKind kind = HolderKind::kRetention;
  std::string label;       // kName, kSession; else empty
  int64_t count = 1;       // the number of retentions with equal terms; 1 for all other kinds
  int64_t expires_us = 0;  // Unix time; 0: never. A pinned holder does not expire
  int32_t priority = 0;
  int64_t priority_until_us = 0;  // Unix time; then the type's default applies; 0: for good
  bool pinned = false;            // keeps the pages from eviction; always true for kPin
  bool operator==(const Holder&) const = default;
};

}  // namespace cascade
