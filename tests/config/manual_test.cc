// The shipped files agree with the table.
#include "config/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "tests/places.h"
#include "tests/temporary_folder.h"

namespace cascade::config {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kSource = testing::source_dir();
constexpr char kDemo[] = "/usr/share/cascaded/models/demo";

std::string shipped(const char* path) {
  const auto text = read_file(kSource / path, size_t{1} << 20);
  return text.ok() ? *text : text.error().to_string();
}

TEST(Manual, is_the_shipped_file) {
  EXPECT_EQ(shipped("config/cascaded.toml"), manual_file(kDemo))
      << "cascadectl config manual --model " << kDemo << " > config/cascaded.toml";
}

TEST(Manual, is_the_shipped_page) {
  EXPECT_EQ(shipped("docs/man/cascaded.toml.5"), manual_page())
      << "cascadectl config manual --page > docs/man/cascaded.toml.5";
}

// Turns every "#key = value" into a setting: the values shown as defaults are valid.
TEST(Manual, is_a_good_file_also_with_every_default_in_force) {
  std::string text = manual_file(kDemo);
  for (const Setting& setting : settings()) {
    const std::string line = "\n#" + key_of(setting) + " =";
    const size_t at = text.find(line);
    if (setting.name == "model") continue;
    ASSERT_NE(at, std::string::npos) << setting.name;
    if (!setting.fallback.empty()) text.erase(at + 1, 1);
  }
  testing::TemporaryFolder folder;
  const std::string path = folder.path() / "cascaded.toml";
  std::ofstream(path) << text;
  Configuration configuration;
  add_files(configuration, path);
  for (const Error& problem : configuration.problems) ADD_FAILURE() << problem.to_string();
  EXPECT_EQ(configuration.values.at("model").texts.front(), kDemo);
  for (const Setting& setting : settings()) {
    if (setting.fallback.empty()) continue;
    EXPECT_EQ(configuration.values.at(std::string(setting.name)).texts.front(), setting.fallback);
  }
}

TEST(Manual, writes_values_as_toml_reads_them) {
  EXPECT_EQ(assignment(*find_setting("model"), {"a\"b\\c"}), R"(model = "a\"b\\c")");
  EXPECT_EQ(assignment(*find_setting("threads"), {"3"}), "threads = 3");
  EXPECT_EQ(assignment(*find_setting("tenant"), {"a", "b"}), R"(tenant = ["a", "b"])");
  EXPECT_EQ(assignment(*find_setting("tenant"), {}), "tenant = []");
}

TEST(Manual, has_every_key_with_its_range_in_the_page) {
  const std::string page = manual_page();
  for (const Setting& setting : settings()) {
    EXPECT_THAT(page, HasSubstr("\n.B " + key_of(setting))) << setting.name;
  }
  EXPECT_THAT(page, HasSubstr("from 1 to 256"));
}

}  // namespace
}  // namespace cascade::config
