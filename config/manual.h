// The manual of the settings, from their table.
#pragma once

#include <string>

#include "config/configuration.h"

namespace cascade::config {

// The configuration file as it is shipped: every key, commented out, with its meaning, its values,
// its default and the reason for the default. `model`: the folder that is set in the file; empty:
// none.
std::string manual_file(const std::string& model);
// The manual page cascaded.toml(5).
std::string manual_page();

// `key = value` as a line of the file.
std::string assignment(const Setting& setting, const std::vector<std::string>& texts);

}  // namespace cascade::config
