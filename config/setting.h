// The settings of cascaded: one table from which flags, keys of the configuration file, environment
// variables, defaults, checks, help and manual are made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cascade::config {

enum class Kind {
  kText,
  kPath,
  kList,     // of texts
  kChoice,   // one of a few words
  kInteger,  // from `least` to `most`
  kSize,     // bytes, or KiB, MiB, GiB with K, M, G after the number
  kShare,    // a number from 0 to 1
};

struct Setting {
  std::string_view name;  // of the flag, without "--"
  Kind kind;
  std::string_view group;     // the heading above the setting
  std::string_view fallback;  // the default, as it is written; empty: none, or see `computed`
  std::string_view computed;  // where the default comes from if it depends on the machine
  std::string_view allowed;   // the allowed values; for kInteger: the unit
  int64_t least = 0, most = 0;
  bool reloads;             // SIGHUP changes the setting; other settings need a restart
  std::string_view help;    // the setting's meaning: one clause
  std::string_view reason;  // why this is the default; sentences
};

// In the order of the manual.
std::span<const Setting> settings();
// nullptr: no setting has this name.
const Setting* find_setting(std::string_view name);

std::string flag_of(const Setting& setting);      // --kv-memory
std::string key_of(const Setting& setting);       // kv_memory
std::string variable_of(const Setting& setting);  // CASCADED_KV_MEMORY
// The allowed values, for people: "a whole number from 1 to 256".
std::string allowed_of(const Setting& setting);

// Checks whether `texts`, as given on a command line, may be the setting's value: one text, or any
// number of texts for kList. Errors: kInvalidArgument with `where` as field, and the allowed values
// in the message.
Status check(const Setting& setting, const std::vector<std::string>& texts,
             const std::string& where);

// "512M", "4G", "1024" (bytes; K, M, G are powers of 1,024). Errors: kInvalidArgument, field
// `where`.
Result<int64_t> parse_size(const std::string& where, const std::string& text);

}  // namespace cascade::config
