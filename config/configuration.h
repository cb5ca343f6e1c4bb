// The settings of cascaded, and where each value was given: files, environment, command line, in
// rising order.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/setting.h"

namespace cascade::config {

struct Value {
  std::vector<std::string> texts;  // as on a command line; only lists have several
  std::string origin;  // "--threads", "CASCADED_THREADS", "/etc/…/cascaded.toml:12: threads"
};

// By the names of the settings; only settings that were given.
using Values = std::map<std::string, Value, std::less<>>;

struct Configuration {
  Values values;
  std::vector<std::string> files;     // the files that were read, in their order
  std::vector<Error> problems;        // all problems; the field says where
  std::vector<std::string> warnings;  // possible mistakes
};

// Adds the settings of the file, then those of the files FILE.d/*.toml except hidden ones, in the
// order of their names; later values replace earlier ones. These are problems: a file that cannot
// be read, is not TOML or has more than 1 MiB; an unknown key; a value of a wrong type or out of
// range.
void add_files(Configuration& configuration, const std::string& file);

// Adds the variables CASCADED_*; the texts of a list are separated by commas. `environment` has the
// form of environ(7). An unknown variable of this kind is a warning.
void add_environment(Configuration& configuration, const char* const* environment);

// The configuration file of a process that was not given one: $CASCADED_CONFIG, or else empty.
std::string file_from_environment();

// A setting whose value has changed.
struct Change {
  const Setting* setting;
  std::string origin;  // of the new value; empty: the value is the default again
};
std::vector<Change> changes(const Values& before, const Values& after);

}  // namespace cascade::config
