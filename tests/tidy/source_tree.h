// The project's files that the tidy rules look at, and the report of broken rules.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace cascade::tidy {

struct SourceFile {
  std::string path;    // from the project's root, with "/"
  std::string folder;  // the first part of the path: "model", "tests"
  std::string text;
  std::string code;  // the text with comments and literals blanked; only for C++

  bool is_cpp() const { return path.ends_with(".cc") || is_header(); }
  bool is_header() const { return path.ends_with(".h"); }
  bool is_build_file() const { return path.ends_with("CMakeLists.txt"); }
  // C++ and scripts, which people write. Build files must follow fewer rules.
  bool is_program() const { return !is_build_file(); }
};

// The folders that hold sources.
const std::vector<std::string>& source_folders();

// C++, scripts (.py, .js, .sh) and CMakeLists.txt of source_folders(), sorted by path; hidden
// folders, build and node_modules are left out. Read once.
const std::vector<SourceFile>& source_files();

// The Markdown files of the project, sorted by path; the same folders are left out. Read once.
const std::vector<SourceFile>& documents();

// Collects the places that break a rule.
class Violations {
 public:
  // `line` counts from 1.
  void add(const SourceFile& file, int line, const std::string& message) {
    found_.insert({file.path, line, message});
  }

  // "file:line: message" of each, sorted.
  std::string to_string() const {
    std::string text;
    for (const auto& [path, line, message] : found_) {
      text += path + ":" + std::to_string(line) + ": " + message + "\n";
    }
    return text;
  }

  // Succeeds if there are none.
  ::testing::AssertionResult none() const {
    if (found_.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << found_.size() << " violations:\n" << to_string();
  }

 private:
  std::set<std::tuple<std::string, int, std::string>> found_;
};

}  // namespace cascade::tidy
