// API keys: whoever has a key is the tenant for which it was made. Only hashes are kept.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace cascade::http {

class ApiKeys {
 public:
  // Each line (key_lines.h) has a tenant and the SHA-256 of a key in hexadecimal. A tenant may have
  // several keys.
  // Errors: kInvalidArgument, field "line N".
  static Result<ApiKeys> parse(std::string_view text);

  // Whether requests need a key: true if a file of keys was read. If the file had no entry, nobody
  // has a key.
  bool are_asked() const { return asked_; }
  bool empty() const { return entries_.empty(); }
  // The number of tenants that have a key.
  size_t tenant_count() const;
  // The tenant whose key this is. Takes the same time for every invalid key.
  std::optional<std::string> tenant_of(std::string_view key) const;

 private:
  struct Entry {
    std::string tenant;
    Digest hash;
  };
  std::vector<Entry> entries_;
  bool asked_ = false;
};

// A new key: "sk-cascade-" and 64 hexadecimal digits from the system's generator.
std::string new_api_key();
// The key's line in a file of keys, without the end of the line.
std::string api_key_line(const std::string& tenant, std::string_view key);

}  // namespace cascade::http
