// What cascaded is set to, and where each value was given: files, environment, command line, in
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
  std::vector<std::string> texts;  // as on a command line; one, but of lists
  std::string origin;  // "--threads", "CASCADED_THREADS", "/etc/…/cascaded.toml:12: threads"
};

// By the names of the settings; only those that were given.
using Values = std::map<std::string, Value, std::less<>>;

struct Configuration {
  Values values;
  std::vector<std::string> files;     // that were read, in their order
  std::vector<Error> problems;        // all of them; the field says where
  std::vector<std::string> warnings;  // what may be a mistake
};

// Adds what the file says, then the files FILE.d/*.toml in the order of their names, but hidden
// ones; later ones take the place of earlier ones. What is wrong is a problem: a file that cannot
// be read, is no TOML, has over 1 MiB; an unknown key; a value of a wrong type or out of range.
void add_files(Configuration& configuration, const std::string& file);

// Adds the variables CASCADED_*; of lists the texts are apart by commas. `environment`: as
// environ(7) has it. An unknown variable of this kind is a warning.
void add_environment(Configuration& configuration, const char* const* environment);

// The configuration file of a process that was told none: $CASCADED_CONFIG, else empty.
std::string file_from_environment();

// A setting whose value is another one than it was.
struct Change {
  const Setting* setting;
  std::string origin;  // of the new value; empty: it is the default again
};
std::vector<Change> changes(const Values& before, const Values& after);

}  // namespace cascade::config
