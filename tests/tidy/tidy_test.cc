// The style rules that can be checked by looking at the text. Each test is one rule and lists the
// places that break it as file:line: message.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/utf8.h"
#include "tests/tidy/source_code.h"
#include "tests/tidy/source_tree.h"

namespace cascade::tidy {
namespace {

constexpr int kFileLinesMax = 500;
constexpr int kFunctionLinesMax = 70;
// The limits for one class.
constexpr int kFunctionsMax = 40;
constexpr int kFieldsMax = 20;
constexpr int kColumnsMax = 100;
constexpr int kDocumentColumnsMax = 120;

// Calls look(line number, line) for each line of `text`, without its "\n".
template <class Look>
void for_lines(std::string_view text, const Look& look) {
  int line = 1;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    look(line++, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

int count_columns(std::string_view line) {
  int columns = 0;
  for (size_t at = 0; at < line.size(); at += utf8_decode(line, at).size) ++columns;
  return columns;
}

// The places where `text` matches `pattern`, with `message`, in the files that `wanted` accepts.
template <class Wanted>
Violations find_matches(std::string SourceFile::*text, const std::string& pattern,
                        const std::string& message, const Wanted& wanted) {
  const std::regex regex(pattern, std::regex::optimize);
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!wanted(file)) continue;
    const std::string& in = file.*text;
    for (std::sregex_iterator it(in.begin(), in.end(), regex), end; it != end; ++it) {
      violations.add(file, line_at(in, it->position()), message);
    }
  }
  return violations;
}

bool any_file(const SourceFile&) {
  return true;
}

TEST(Tidy, finds_the_sources) {
  size_t tests = 0;
  for (const SourceFile& file : source_files()) tests += file.folder == "tests";
  EXPECT_GT(tests, 20u);
  EXPECT_GT(source_files().size(), 100u);
}

TEST(Tidy, files_are_short) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    const auto lines = std::ranges::count(file.text, '\n');
    if (lines <= kFileLinesMax) continue;
    violations.add(file, kFileLinesMax + 1,
                   "the file has " + std::to_string(lines) + " lines; the limit is " +
                       std::to_string(kFileLinesMax));
  }
  EXPECT_TRUE(violations.none());
}

TEST(Tidy, functions_are_short) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp()) continue;
    for (const Function& function : find_functions(file.text)) {
      if (function.line_count <= kFunctionLinesMax) continue;
      violations.add(file, function.line,
                     "the function has " + std::to_string(function.line_count) +
                         " lines; the limit is " + std::to_string(kFunctionLinesMax));
    }
  }
  EXPECT_TRUE(violations.none());
}

// Classes that are too large, with their current numbers; these numbers may only fall.
struct LargeClass {
  const char* name;
  int functions, fields;
};
constexpr LargeClass kLargeClasses[] = {
    {"Api", 45, 9},          {"ChainIndex", 62, 17},     {"Client", 70, 7},
    {"Interpreter", 45, 6},  {"KvStore", 66, 20},        {"MemoryDisk", 49, 11},
    {"ModelKeeper", 43, 19}, {"SchedulerCore", 103, 25},
};

// A struct is data and has as many fields as its format.
TEST(Tidy, classes_are_small) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp()) continue;
    for (const Class& found : find_classes(file.text)) {
      const auto* large = std::ranges::find(kLargeClasses, found.name, &LargeClass::name);
      const bool is_known = large != std::end(kLargeClasses) && !found.is_struct;
      const int functions = is_known ? large->functions : kFunctionsMax;
      const int fields = is_known ? large->fields : kFieldsMax;
      const std::string has = found.name + " has " + std::to_string(found.functions) +
                              " functions and " + std::to_string(found.fields) + " fields; ";
      if (found.functions > functions || (!found.is_struct && found.fields > fields)) {
        violations.add(
            file, found.line,
            has + "the limits are " + std::to_string(functions) + " and " + std::to_string(fields));
      } else if (is_known && (found.functions < functions || found.fields < fields)) {
        violations.add(file, found.line, has + "lower its numbers in kLargeClasses");
      }
    }
  }
  EXPECT_TRUE(violations.none());
}

TEST(Tidy, lines_are_short) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_program()) continue;
    for_lines(file.text, [&](int number, std::string_view line) {
      const int columns = count_columns(line);
      if (columns <= kColumnsMax) return;
      violations.add(file, number,
                     "the line has " + std::to_string(columns) + " columns; the limit is " +
                         std::to_string(kColumnsMax));
    });
  }
  EXPECT_TRUE(violations.none());
}

// Rows of tables are left out: they cannot be broken.
TEST(Tidy, lines_of_documents_are_short) {
  Violations violations;
  EXPECT_GT(documents().size(), 10u);
  for (const SourceFile& file : documents()) {
    for_lines(file.text, [&](int number, std::string_view line) {
      const int columns = count_columns(line);
      if (columns <= kDocumentColumnsMax || line.starts_with('|')) return;
      violations.add(file, number,
                     "the line has " + std::to_string(columns) + " columns; the limit is " +
                         std::to_string(kDocumentColumnsMax));
    });
  }
  EXPECT_TRUE(violations.none());
}

// The openings of comments that had to be read twice: the subject came last, or was missing. They
// are spelled so that this file does not contain them.
TEST(Tidy, comments_begin_with_their_subject) {
  EXPECT_TRUE(find_matches(&SourceFile::text,
                           "(//|#) ("
                           "Of |The same"
                           " of\\b|So many\\b|Who )",
                           "begin with the subject of the sentence", any_file)
                  .none());
}

TEST(Tidy, files_begin_with_what_they_are_for) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp() || std::regex_search(file.text, std::regex("^// \\S"))) continue;
    violations.add(file, 1, "the first line is not a // comment");
  }
  EXPECT_TRUE(violations.none());
}

TEST(Tidy, headers_are_included_once) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    if (!file.is_header()) continue;
    const size_t directive = file.code.find('#');
    const bool once =
        directive != std::string::npos && file.code.compare(directive, 12, "#pragma once") == 0;
    if (!once) violations.add(file, 1, "the first directive is not #pragma once");
  }
  EXPECT_TRUE(violations.none());
}

TEST(Tidy, white_space_is_clean) {
  Violations violations;
  for (const SourceFile& file : source_files()) {
    for_lines(file.text, [&](int number, std::string_view line) {
      if (line.find('\t') != std::string_view::npos) violations.add(file, number, "a tab");
      if (line.find('\r') != std::string_view::npos) violations.add(file, number, "a CR");
      if (line.ends_with(' ')) violations.add(file, number, "white space at the end");
    });
    const int last = static_cast<int>(std::ranges::count(file.text, '\n'));
    if (!file.text.empty() && !file.text.ends_with('\n')) {
      violations.add(file, last + 1, "no newline at the end of the file");
    }
    if (file.text.ends_with("\n\n")) violations.add(file, last, "an empty line ends the file");
  }
  EXPECT_TRUE(violations.none());
}

TEST(Tidy, nothing_is_put_off) {
  // The words are spelled so that this file does not contain them.
  EXPECT_TRUE(find_matches(&SourceFile::text,
                           "\\b(TO"
                           "DO|FIX"
                           "ME|XX"
                           "X)\\b",
                           "work that is put off belongs elsewhere", any_file)
                  .none());
}

TEST(Tidy, coroutines_are_not_detached) {
  EXPECT_TRUE(find_matches(&SourceFile::code, "\\bdetached\\b",
                           "asio::detached swallows exceptions; give co_spawn a handler", any_file)
                  .none());
}

TEST(Tidy, asio_is_used_without_its_experiments) {
  EXPECT_TRUE(find_matches(&SourceFile::code, "\\basio\\s*(::|/)\\s*experimental\\b",
                           "asio::experimental is not in every Boost we support", any_file)
                  .none());
}

TEST(Tidy, actors_do_not_lock) {
  // The guard is not an actor: it has a thread, and a thread of libzmq calls it.
  const auto is_actor = [](const SourceFile& file) {
    return file.folder == "actors" && file.path != "actors/accept_guard.cc";
  };
  EXPECT_TRUE(find_matches(&SourceFile::code, "\\bstd::(\\w+_)?mutex\\b|<(shared_)?mutex>",
                           "actors share nothing, so there is nothing to lock", is_actor)
                  .none());
}

TEST(Tidy, tests_do_not_sleep) {
  EXPECT_TRUE(find_matches(&SourceFile::code, "\\b(sleep_for|sleep_until|usleep|nanosleep)\\b",
                           "tests wait for what happens, not for time",
                           [](const SourceFile& file) { return file.folder == "tests"; })
                  .none());
}

bool is_test(const SourceFile& file) {
  return file.folder == "tests" || file.path.starts_with("clients/node/test/") ||
         file.path.starts_with("clients/python/tests/");
}

// Other machines are slower or busy, so a test compares counts, states, orders, and bytes that we
// count ourselves. Two files may look at a clock: one waits patiently for processes, and the other
// prints the times of a real disk.
TEST(Tidy, tests_do_not_measure_time) {
  const std::set<std::string> may = {"tests/system/process.cc", "tests/persist/real_disk_test.cc"};
  EXPECT_TRUE(find_matches(
                  &SourceFile::code,
                  "\\b(perf_counter|high_resolution_clock|steady_clock|getrusage)\\b",
                  "what can only be measured belongs into cascade-bench",
                  [&](const SourceFile& file) { return is_test(file) && !may.contains(file.path); })
                  .none());
  EXPECT_TRUE(find_matches(&SourceFile::text, "\\b(perf_counter|performance\\.now)\\b",
                           "what can only be measured belongs into cascade-bench",
                           [](const SourceFile& file) { return is_test(file) && !file.is_cpp(); })
                  .none());
}

// Pages are forgotten in one place, which knows what is running, what is written and what is
// public.
TEST(Tidy, only_the_page_lifecycle_forgets_pages) {
  const auto is_other = [](const SourceFile& file) {
    return file.path.starts_with("actors/") &&
           !file.path.starts_with("actors/scheduler/keep/page_lifecycle.");
  };
  EXPECT_TRUE(find_matches(&SourceFile::code,
                           "(\\.|->)(drop_subtree|drop_branch|remove_from|remove_unshared)\\(",
                           "let PageLifecycle forget them", is_other)
                  .none());
}

// malloc keeps more memory on machines with more cores.
TEST(Tidy, only_long_tests_look_at_resident_memory) {
  const auto is_short = [](const SourceFile& file) {
    return is_test(file) && file.path != "tests/bench/serve/process_test.cc" &&
           file.text.find("long_tests()") == std::string::npos &&
           !std::regex_search(file.text, std::regex("\\bLONG\\b"));
  };
  // The words are spelled so that this file does not contain them.
  EXPECT_TRUE(find_matches(&SourceFile::text,
                           "Vm"
                           "RSS|/stat"
                           "m\\b|ru_max"
                           "rss",
                           "compare bytes of our own accounting", is_short)
                  .none());
}

// A fresh clone lacks only the data of other people. Tests that need data of ours from beside the
// project would be skipped there.
TEST(Tidy, tests_read_no_data_of_ours_from_beside_the_project) {
  EXPECT_TRUE(find_matches(&SourceFile::text,
                           "(shared_dir\\(\\) / |REQUIRE_SHARED\\()(?!\"corpora/|"
                           "\"fixtures/templates|\"fixtures/gguf-vocab|\\(?relative)",
                           "this belongs into tests/model/fixtures",
                           [](const SourceFile& file) { return file.folder == "tests"; })
                  .none());
}

TEST(Tidy, libraries_do_not_print) {
  const auto is_library = [](const SourceFile& file) {
    return file.folder != "tests" && file.folder != "bench" && !file.path.ends_with("/main.cc");
  };
  EXPECT_TRUE(find_matches(&SourceFile::code, "\\bstd::cout\\s*<<",
                           "a library logs or returns; programs print", is_library)
                  .none());
}

TEST(Tidy, tests_mirror_the_sources) {
  Violations violations;
  std::set<std::string> folders;
  const auto folder_of = [](const std::string& path) { return path.substr(0, path.rfind('/')); };
  for (const SourceFile& file : source_files()) {
    if (file.folder != "tests") folders.insert(folder_of(file.path));
  }
  for (const SourceFile& file : source_files()) {
    if (file.folder != "tests" || !file.is_cpp()) continue;
    const std::string folder = folder_of(file.path);
    // These test no single folder: shared helpers, tests of the whole tree, of the programs as
    // processes, of readers of files, and of a package's use.
    const std::set<std::string> others = {"tests", "tests/tidy", "tests/system", "tests/fuzz",
                                          "tests/service/find_package"};
    if (others.contains(folder)) continue;
    if (folders.contains(folder.substr(std::string_view("tests/").size()))) continue;
    violations.add(file, 1, "tests a folder that does not exist");
  }
  EXPECT_TRUE(violations.none());
}

}  // namespace
}  // namespace cascade::tidy
