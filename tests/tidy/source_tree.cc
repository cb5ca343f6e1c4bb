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

bool is_document(const fs::path& path) {
  return path.extension() == ".md";
}

// Adds the files below `folder` that `is_wanted` accepts.
void read_below(const fs::path& folder, bool (*is_wanted)(const fs::path&),
                std::vector<SourceFile>& files) {
  if (!fs::is_directory(folder)) return;
  auto entry = fs::recursive_directory_iterator(folder);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && is_skipped_folder(entry->path().filename())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_wanted(entry->path())) {
      files.push_back(read(testing::source_dir(), entry->path()));
    }
  }
}

std::vector<SourceFile> read_sources() {
  std::vector<SourceFile> files;
  for (const std::string& folder : source_folders()) {
    read_below(fs::path(testing::source_dir()) / folder, is_source, files);
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> read_documents() {
  std::vector<SourceFile> files;
  read_below(testing::source_dir(), is_document, files);
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
  static const std::vector<SourceFile> files = read_sources();
  return files;
}

const std::vector<SourceFile>& documents() {
  static const std::vector<SourceFile> files = read_documents();
  return files;
}

}  // namespace cascade::tidy
