// Which names models can have.
#include "base/model_name.h"

#include <gtest/gtest.h>

#include <string>

namespace cascade {
namespace {

using namespace std::string_literals;

TEST(ModelName, is_that_of_a_file_as_people_write_it) {
  for (const std::string& name :
       {"Qwen3-0.6B"s, "a"s, "Mein Modell"s, "Gro\xC3\xA9\xC3\x9F"s, "\xE6\xA8\xA1\xE5\x9E\x8B"s,
        "phi (4-bit), v2 & more+\"q\"=~'"s, "a:b@c"s, std::string(255, 'm')}) {
    EXPECT_TRUE(is_model_name(name)) << name;
  }
}

TEST(ModelName, has_nothing_that_a_path_a_terminal_or_a_command_line_obeys) {
  for (const std::string& name :
       {""s, "a/b"s, "../a"s, "."s, ".hidden"s, "-rf"s, "a\nb"s, "a\tb"s, "a\rb"s, "a\x1b[2J"s,
        "a\0b"s, "a\x7F"s, "a\xFF"s, "a\xC2\x85"s, "a\xE2\x80\xAE"s, std::string(256, 'm')}) {
    EXPECT_FALSE(is_model_name(name)) << name;
  }
}

TEST(ModelName, of_a_path_is_the_last_part_without_gguf) {
  for (const char* path : {"/models/demo", "demo", "./demo/", "/models/demo.gguf"}) {
    EXPECT_EQ(model_name_of_path(path), "demo") << path;
  }
}

}  // namespace
}  // namespace cascade
