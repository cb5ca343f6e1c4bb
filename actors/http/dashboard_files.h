// The dashboard: a page, its style and its script, as they are built into the program.
#pragma once

#include <string_view>

namespace cascade {

struct DashboardFile {
  std::string_view type;  // of its content
  std::string_view body;
};

// The file of a path: "/", "/dashboard.css" or "/dashboard.js". Any thread.
DashboardFile dashboard_file(std::string_view path);

}  // namespace cascade
