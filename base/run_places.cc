// The rule of the header as a list of places; no place is listed twice.
#include "base/run_places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace cascade {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<uid_t> owner_of_folder(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  return info.st_uid;
}

// Any user can take a name in /tmp, so this place may belong to somebody else.
std::string place_in_tmp(uid_t user) {
  return "/tmp/cascaded-" + std::to_string(user);
}

}  // namespace

RunSurroundings run_surroundings() {
  return {::geteuid(), variable("RUNTIME_DIRECTORY"), variable("XDG_RUNTIME_DIR"), owner_of_folder};
}

std::vector<std::string> own_run_dirs(const RunSurroundings& around) {
  std::vector<std::string> places;
  const auto add = [&](std::string place) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  };
  const auto is_own = [&](const std::string& path) { return around.owner_of(path) == around.user; };
  if (around.runtime_directory.starts_with('/')) {
    add(around.runtime_directory.substr(0, around.runtime_directory.find(':')));
  }
  const bool no_system = !around.owner_of(kSystemRunDir).has_value();
  if (is_own(kSystemRunDir) || (around.user == 0 && no_system)) add(kSystemRunDir);
  const std::string& runtime = around.xdg_runtime_dir;
  if (runtime.starts_with('/') && is_own(runtime)) add(runtime + "/cascaded");
  const std::string of_login = "/run/user/" + std::to_string(around.user);
  if (is_own(of_login)) add(of_login + "/cascaded");
  add(place_in_tmp(around.user));
  return places;
}

std::vector<std::string> client_run_dirs(const RunSurroundings& around) {
  std::vector<std::string> places = own_run_dirs(around);
  const std::string temporary = place_in_tmp(around.user);
  if (around.owner_of(temporary) != around.user) std::erase(places, temporary);
  if (std::ranges::find(places, kSystemRunDir) == places.end()) places.emplace_back(kSystemRunDir);
  return places;
}

}  // namespace cascade
