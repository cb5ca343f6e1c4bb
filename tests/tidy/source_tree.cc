// Walks the source folders once.
#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "tests/places.h"
#include "tests/tidy/source_code.h"

namespace cascade::tidy {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytesMax = size_t{4} << 20;

bool is_skipped_folder(const std::string& name) {
  return name.starts_with('.') || name.starts_with("__") || name == "build" ||
         name == "node_modules";
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension();
  for (const char* known : {".h", ".cc", ".py", ".js", ".mjs", ".ts", ".sh"}) {
    if (extension == known) return true;
  }
  return path.filename() == "CMakeLists.txt";
}

SourceFile read(const fs::path& root, const fs::path& path) {
  SourceFile file;
  const fs::path relative = path.lexically_relative(root);
  file.path = relative.generic_string();
  file.folder = relative.begin()->string();
  auto text = read_file(path, kFileBytesMax);
  EXPECT_TRUE(text.ok()) << file.path;
  if (text.ok()) file.text = *std::move(text);
  if (file.is_cpp()) file.code = blank_comments_and_literals(file.text);
  return file;
}

std::vector<SourceFile> read_all() {
  const fs::path root = testing::source_dir();
  std::vector<SourceFile> files;
  for (const std::string& folder : source_folders()) {
    if (!fs::is_directory(root / folder)) continue;
    auto entry = fs::recursive_directory_iterator(root / folder);
    for (; entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->is_directory() && is_skipped_folder(entry->path().filename())) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file() && is_source(entry->path())) {
        files.push_back(read(root, entry->path()));
      }
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace

const std::vector<std::string>& source_folders() {
  static const std::vector<std::string> folders = {"base",   "config",  "kernels", "model",
                                                   "cache",  "persist", "wire",    "actors",
                                                   "daemon", "clients", "bench",   "tests",
                                                   "scripts"};
  return folders;
}

const std::vector<SourceFile>& source_files() {
  static const std::vector<SourceFile> files = read_all();
  return files;
}

}  // namespace cascade::tidy
