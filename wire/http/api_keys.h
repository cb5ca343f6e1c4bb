// API keys: who has one is the tenant that it was made for. Only hashes are kept.
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
  // Lines (key_lines.h) of a tenant and the SHA-256 of a key in hexadecimal. A tenant may have
  // several keys.
  // Errors: kInvalidArgument, field "line N".
  static Result<ApiKeys> parse(std::string_view text);

  // Whether a key is needed: they were read. Without an entry nobody has one.
  bool are_asked() const { return asked_; }
  bool empty() const { return entries_.empty(); }
  // The number of tenants that have a key.
  size_t tenant_count() const;
  // The tenant whose key this is. Takes the same time for every key that is none.
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
// Its line in a file of keys, without the end of the line.
std::string api_key_line(const std::string& tenant, std::string_view key);

}  // namespace cascade::http
