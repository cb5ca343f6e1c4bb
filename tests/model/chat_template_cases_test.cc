// Small templates against Jinja2 itself: tests/model/data/make_jinja_cases.py made the answers.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/chat_template_testing.h"
#include "tests/places.h"

namespace cascade::testing {
namespace {

const OrderedJson& jinja_cases() {
  static const OrderedJson json =
      read_ordered_json(source_dir() / "tests/model/data/jinja_cases.json");
  return json;
}

TEST(ChatTemplateCases, print_what_jinja_prints) {
  size_t printed = 0;
  for (const OrderedJson& entry : jinja_cases().at("cases")) {
    if (!entry.contains("output")) continue;
    const auto source = entry.at("template").get<std::string>();
    const auto& variables = jinja_cases().at("contexts").at(entry.at("context").get<std::string>());
    const auto text = render(source, variables);
    ASSERT_TRUE(text.ok()) << source << "\n" << text.error().to_string();
    EXPECT_EQ(plain_text(*text), entry.at("output").get<std::string>()) << source;
    ++printed;
  }
  EXPECT_GE(printed, 1500u);
}

TEST(ChatTemplateCases, fail_where_jinja_fails) {
  size_t failed = 0;
  for (const OrderedJson& entry : jinja_cases().at("cases")) {
    if (!entry.contains("error")) continue;
    const auto source = entry.at("template").get<std::string>();
    const auto& variables = jinja_cases().at("contexts").at(entry.at("context").get<std::string>());
    const auto text = render(source, variables);
    ASSERT_FALSE(text.ok()) << source << "\n" << plain_text(*text);
    EXPECT_EQ(text.error().field, "chat_template");
    if (entry.contains("message")) {
      EXPECT_EQ(text.error().message, entry.at("message").get<std::string>()) << source;
    } else {
      EXPECT_TRUE(text.error().message.starts_with("line ")) << text.error().message;
    }
    ++failed;
  }
  EXPECT_GE(failed, 200u);
}

}  // namespace
}  // namespace cascade::testing
