// Files, drop-ins and environment: which value takes effect, and how mistakes are named.
#include "config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"

namespace cascade::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  Configuration read() const {
    Configuration configuration;
    add_files(configuration, file);
    return configuration;
  }
  // The one problem of a file with this text.
  Error problem_of(const std::string& text) {
    write("c.toml", text);
    const Configuration configuration = read();
    EXPECT_EQ(configuration.problems.size(), 1u) << text;
    return configuration.problems.empty() ? Error{} : configuration.problems.front();
  }

  testing::TemporaryFolder folder;
  const std::string file = folder.path() / "c.toml";
};

std::string text_of(const Configuration& configuration, const char* name) {
  const auto found = configuration.values.find(name);
  return found == configuration.values.end() ? "(none)" : found->second.texts.at(0);
}

TEST_F(Files, give_values_of_every_type_with_their_lines) {
  write("c.toml",
        "# a comment\nmodel = \"/m\"\nthreads = 3\nkv_memory = \"4G\"\nmax_disk = 1_000\n"
        "max_pinned = 0.25\nchunk_memory_ratio = 1\ntenant = [\"a\", 'b']\nweights = 'int8'\n");
  const Configuration read_ = read();
  EXPECT_TRUE(read_.problems.empty());
  EXPECT_EQ(text_of(read_, "model"), "/m");
  EXPECT_EQ(text_of(read_, "threads"), "3");
  EXPECT_EQ(text_of(read_, "kv-memory"), "4G");
  EXPECT_EQ(text_of(read_, "max-disk"), "1000");
  EXPECT_EQ(text_of(read_, "max-pinned"), "0.25");
  EXPECT_EQ(text_of(read_, "chunk-memory-ratio"), "1");
  EXPECT_EQ(text_of(read_, "weights"), "int8");
  EXPECT_THAT(read_.values.at("tenant").texts, ElementsAre("a", "b"));
  EXPECT_EQ(read_.values.at("threads").origin, file + ":3: threads");
}

TEST_F(Files, let_drop_ins_hold_over_the_file_in_the_order_of_their_names) {
  write("c.toml", "threads = 1\nmax_running = 1\nmodel = \"m\"\ntenant = [\"a\", \"b\"]\n");
  write("c.toml.d/20-b.toml", "threads = 3\n");
  write("c.toml.d/10-a.toml", "threads = 2\nmax_running = 2\ntenant = [\"c\"]\n");
  write("c.toml.d/ignored.txt", "threads = nonsense");
  write("c.toml.d/.30-c.toml.swp", "threads = nonsense");
  write("c.toml.d/.30-c.toml", "threads = nonsense");
  const Configuration read_ = read();
  EXPECT_TRUE(read_.problems.empty());
  EXPECT_EQ(text_of(read_, "threads"), "3");
  EXPECT_EQ(text_of(read_, "max-running"), "2");
  EXPECT_EQ(text_of(read_, "model"), "m");
  EXPECT_THAT(read_.values.at("tenant").texts, ElementsAre("c")) << "a list replaces a list";
  EXPECT_EQ(read_.files.size(), 3u);
}

TEST_F(Files, are_refused_by_file_line_key_and_what_is_allowed) {
  const Error range = problem_of("model = \"m\"\n\nmax_waiting = 0\n");
  EXPECT_EQ(range.field, file + ":3: max_waiting");
  EXPECT_THAT(range.message, HasSubstr("from 1 to 100000"));
  const Error choice = problem_of("kv = \"fp4\"");
  EXPECT_THAT(choice.message, HasSubstr("f32, bf16, fp16, fp8, int8"));
  const Error type = problem_of("threads = \"3\"");
  EXPECT_THAT(type.message, HasSubstr("must be an integer"));
  EXPECT_THAT(type.message, HasSubstr("is a string"));
  for (const char* wrong :
       {"kv_memory = 1.5", "kv_memory = true", "tenant = \"a\"", "tenant = [1]", "model = 3",
        "max_pinned = \"0.5\"", "threads = 1.0", "model = {a = 1}", "model = 1979-05-27"}) {
    EXPECT_THAT(problem_of(wrong).field, HasSubstr(file + ":1: ")) << wrong;
  }
}

TEST_F(Files, are_refused_for_keys_that_are_none) {
  EXPECT_EQ(problem_of("modle = \"m\"").message, "is not a setting; did you mean model?");
  EXPECT_EQ(problem_of("kv_memroy = \"4G\"").message, "is not a setting; did you mean kv_memory?");
  EXPECT_EQ(problem_of("colour = 1").message, "is not a setting; see cascaded.toml(5)");
  EXPECT_THAT(problem_of("kv-memory = \"4G\"").message, HasSubstr("write it as kv_memory"));
  EXPECT_THAT(problem_of("[server]\nport = 1").field, HasSubstr(":1: server"));
}

TEST_F(Files, are_refused_for_what_is_no_toml) {
  EXPECT_EQ(problem_of("threads = 1\nthreads = 2\n").field, file + ":2");
  EXPECT_THAT(problem_of("model = \"unclosed\nthreads = 1\n").message, HasSubstr("is not TOML"));
  EXPECT_THAT(problem_of(std::string("model = \"a\0b\"", 13)).message, HasSubstr("is not TOML"));
  EXPECT_FALSE(problem_of(std::string((1 << 20) + 1, '#')).message.empty());
}

TEST_F(Files, say_which_texts_lack_their_quotes) {
  for (const auto& [line, quoted] : std::vector<std::pair<const char*, const char*>>{
           {"weights = int8", "weights = \"int8\""},
           {"weights=int8   # fast", "weights = \"int8\""},
           {"kv_memory = 4G", "kv_memory = \"4G\""},
           {"model = /srv/my model", "model = \"/srv/my model\""},
           {"http = 127.0.0.1:8178\r", "http = \"127.0.0.1:8178\""}}) {
    const Error error = problem_of(std::string("threads = 1\n") + line + "\nmax_running = 3\n");
    EXPECT_EQ(error.field, file + ":2") << line;
    EXPECT_THAT(error.message, HasSubstr(std::string("; put texts in quotes: ") + quoted)) << line;
  }
  for (const char* line : {"threads = 1\nthreads = 2", "model = \"unclosed", "model = 'a",
                           "model =", "= 3", "tenant = [a, b]", "model"}) {
    EXPECT_EQ(problem_of(line).message.find("in quotes"), std::string::npos) << line;
  }
}

TEST_F(Files, have_all_their_problems_told) {
  write("c.toml", "threads = 0\nmax_running = 0\n");
  write("c.toml.d/a.toml", "max_tokens = 0\n");
  EXPECT_EQ(read().problems.size(), 3u);
}

TEST_F(Files, must_be_there) {
  const Configuration missing = read();
  ASSERT_EQ(missing.problems.size(), 1u);
  EXPECT_THAT(missing.problems.front().to_string(), HasSubstr(file));
}

TEST(Environment, holds_over_files_and_warns_of_what_it_does_not_know) {
  Configuration configuration;
  configuration.values["threads"] = {{"1"}, "file"};
  const char* const environment[] = {
      "CASCADED_THREADS=2", "CASCADED_TENANT=a,b", "CASCADED_THREDS=3",   "CASCADED_CONFIG=/c",
      "CASCADE_ENDPOINT=x", "CASCADED=/bin/x",     "CASCADED_STATE_DIR=", nullptr};
  add_environment(configuration, environment);
  EXPECT_TRUE(configuration.problems.empty());
  EXPECT_EQ(text_of(configuration, "threads"), "2");
  EXPECT_EQ(configuration.values.at("threads").origin, "CASCADED_THREADS");
  EXPECT_THAT(configuration.values.at("tenant").texts, ElementsAre("a", "b"));
  EXPECT_EQ(text_of(configuration, "state-dir"), "") << "the daemon keeps nothing on disk";
  EXPECT_THAT(configuration.warnings,
              ElementsAre("CASCADED_THREDS in the environment is not a setting of cascaded; did "
                          "you mean CASCADED_THREADS?"));
}

TEST_F(Files, may_begin_with_a_byte_order_mark_and_are_utf8) {
  write("c.toml", "\xEF\xBB\xBFthreads = 3\n");
  const Configuration read_ = read();
  EXPECT_TRUE(read_.problems.empty());
  EXPECT_EQ(text_of(read_, "threads"), "3");
  EXPECT_EQ(problem_of({"\xFF\xFEt\0", 4}).message, "is UTF-16 or UTF-32; save it as UTF-8");
}

TEST(Environment, is_refused_by_the_variable) {
  Configuration configuration;
  const char* const environment[] = {"CASCADED_THREADS=many", nullptr};
  add_environment(configuration, environment);
  ASSERT_EQ(configuration.problems.size(), 1u);
  EXPECT_EQ(configuration.problems.front().field, "CASCADED_THREADS");
}

TEST(Changes, are_settings_whose_values_differ) {
  const Values before = {
      {"threads", {{"1"}, "a"}}, {"model", {{"m"}, "a"}}, {"kv", {{"f32"}, "a"}}};
  const Values after = {
      {"threads", {{"2"}, "b"}}, {"model", {{"m"}, "b"}}, {"isa", {{"avx2"}, "b"}}};
  std::vector<std::string> names;
  for (const Change& change : changes(before, after)) {
    names.push_back(std::string(change.setting->name) + "<" + change.origin);
  }
  EXPECT_THAT(names, ElementsAre("kv<", "isa<b", "threads<b"));
  EXPECT_TRUE(changes(after, after).empty());
}

}  // namespace
}  // namespace cascade::config
