// Tests of the notation of RoPE scalings.
#include "base/context_extension.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(ContextExtension, is_a_type_a_factor_and_perhaps_the_original_context) {
  using Type = ContextExtension::Type;
  EXPECT_EQ(*parse_context_extension("yarn:4"), (ContextExtension{Type::kYarn, 4, 0}));
  EXPECT_EQ(*parse_context_extension("linear:2.5:32768"),
            (ContextExtension{Type::kLinear, 2.5, 32768}));
  EXPECT_EQ(*parse_context_extension("yarn:1000:16777216"),
            (ContextExtension{Type::kYarn, 1000, 16777216}));
}

TEST(ContextExtension, is_described_for_people) {
  EXPECT_EQ(describe(*parse_context_extension("yarn:4")), "yarn, factor 4");
  EXPECT_EQ(describe(*parse_context_extension("linear:2.5:32768")),
            "linear, factor 2.5 over 32768 positions");
}

TEST(ContextExtension, errors_name_the_form_or_the_limit_and_the_text) {
  const auto message = [](const char* text) {
    const auto parsed = parse_context_extension(text);
    EXPECT_FALSE(parsed.ok()) << text;
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  for (const char* text : {"", "4", "yarn", ":4", "llama3:8", "YARN:4", "yarn 4", "none:2"}) {
    EXPECT_EQ(message(text),
              std::string("must be yarn:FACTOR or linear:FACTOR, either with :ORIGINAL, such as "
                          "yarn:4:32768, got \"") +
                  text + '"');
  }
  for (const char* text : {"yarn:", "yarn:1", "yarn:0.5", "yarn:-4", "yarn:nan", "yarn:inf",
                           "yarn:1001", "yarn:4x", "yarn: 4", "yarn::32768"}) {
    EXPECT_EQ(message(text),
              std::string("FACTOR must be more than 1 and at most 1000, got \"") + text + '"');
  }
  for (const char* text :
       {"yarn:4:", "yarn:4:0", "yarn:4:-1", "yarn:4:16777217", "yarn:4:32k", "yarn:4:32768:1"}) {
    EXPECT_EQ(message(text),
              std::string("ORIGINAL must be a number of positions from 1 to 16777216, got \"") +
                  text + '"');
  }
}

}  // namespace
}  // namespace cascade
