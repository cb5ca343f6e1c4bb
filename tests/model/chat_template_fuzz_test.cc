// Random templates: none crashes, and none makes text of a client trusted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/long_tests.h"
#include "tests/model/chat_template_testing.h"
#include "tests/model/random_template.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

TemplateLimits small_limits() {
  TemplateLimits limits;
  limits.steps_max = 20'000;
  return limits;
}

size_t trusted_size(const SpannedText& text) {
  size_t size = 0;
  for (const TextSpan& span : text) size += span.trusted ? span.text.size() : 0;
  return size;
}

// The client's texts include characters that upper(), lower() and title() turn into ASCII.
OrderedJson client_variables() {
  const std::string kelvin = "\u212a";    // lower case: "k"
  const std::string long_s = "\u017f";    // upper case: "S"
  const std::string sharp_s = "\u00df";   // upper case: "SS"
  const std::string ligature = "\ufb01";  // upper case: "FI"
  const std::string dotted_i = "\u0130";  // lower case: "i" and a dot
  const std::string text = kelvin + long_s + sharp_s + ligature + dotted_i;
  return {{"c", text + "\n a<b>\"'\\"},
          {"e", ""},
          {"n", 12},
          {"f", 2.5},
          {"t", true},
          {"l", {text, "a", 3, nullptr}},
          {"d", {{"a", text}, {text, "b"}, {"\u4f60", {1, "a"}}}},
          {"u", {{{"a", text}}, {{"a", "a" + sharp_s}}}}};
}

RandomTemplate::Words words() {
  return {{"q", "v", "wz", "ZQ", "", "\u03bb"},
          {"c", "e", "c", "x|string", "y|string"},
          {"l", "u", "[c]", "[x, n]"},
          {"d", "u[0]", "{c: n}"},
          {"n", "f", "t", "none", "x", "y"}};
}

// The template's own text has only letters that occur in no client text, number, constant or
// punctuation of the engine. A trusted character must be one of these letters; otherwise the engine
// has marked another character as trusted.
TEST(ChatTemplateFuzz, text_of_clients_never_becomes_trusted) {
  constexpr std::string_view kTrusted = "qvwzQVWZ%\u03bb\u039b";
  Random random(test_seed());
  RandomTemplate templates(random, words());
  const OrderedJson variables = client_variables();
  size_t printed = 0;
  size_t trusted_bytes = 0;
  size_t untrusted_bytes = 0;
  const auto rounds = long_or<size_t>(20'000, 2'000);
  for (size_t round = 0; round < rounds; ++round) {
    const std::string source = templates.statements(1);
    const auto text = render(source, variables, small_limits());
    if (!text.ok()) {
      ASSERT_EQ(text.error().field, "chat_template") << source;
      continue;
    }
    ++printed;
    for (const TextSpan& span : *text) {
      (span.trusted ? trusted_bytes : untrusted_bytes) += span.text.size();
      for (size_t i = 0; span.trusted && i < span.text.size();) {
        const size_t size = utf8_decode(span.text, i).size;
        const std::string character = span.text.substr(i, size);
        ASSERT_NE(kTrusted.find(character), std::string_view::npos)
            << "trusted: " << span.text << "\nin: " << source;
        i += size;
      }
    }
  }
  // With fewer rounds the results vary more.
  const size_t least = long_or(rounds / 2, rounds / 4);
  EXPECT_GT(printed, least);
  EXPECT_GT(trusted_bytes, least);
  EXPECT_GT(untrusted_bytes, 10 * least);
}

// Whether a variable is trusted ("x_token") or not, the text is the same. With all variables
// untrusted, no more of the text is trusted than before.
TEST(ChatTemplateFuzz, trust_of_variables_does_not_change_the_text) {
  Random random(test_seed());
  RandomTemplate::Words with_token = words();
  with_token.texts = {"c_token", "c", "e"};
  RandomTemplate templates(random, with_token);
  const OrderedJson untrusted = client_variables();
  OrderedJson trusted = untrusted;
  trusted["c_token"] = untrusted.at("c");
  size_t printed = 0;
  const auto rounds = long_or<size_t>(2'000, 500);
  for (size_t round = 0; round < rounds; ++round) {
    const std::string source = templates.statements(1);
    std::string renamed = source;
    for (size_t at = renamed.find("c_token"); at != std::string::npos;
         at = renamed.find("c_token")) {
      renamed.replace(at, 7, "c");
    }
    const auto with_trust = render(source, trusted, small_limits());
    const auto without_trust = render(renamed, untrusted, small_limits());
    // Trust marks take memory, so it can happen that only one of the two reaches the limit.
    if (!with_trust.ok() || !without_trust.ok()) continue;
    ++printed;
    ASSERT_EQ(plain_text(*with_trust), plain_text(*without_trust)) << source;
    ASSERT_LE(trusted_size(*without_trust), trusted_size(*with_trust)) << source;
  }
  EXPECT_GT(printed, long_or(rounds / 2, rounds / 4));
}

void expect_no_crash(const std::string& source, const OrderedJson& variables) {
  const auto text = render(source, variables, small_limits());
  if (!text.ok()) {
    ASSERT_EQ(text.error().field, "chat_template");
    return;
  }
  for (const TextSpan& span : *text) ASSERT_TRUE(is_utf8(span.text));
}

// One random edit: a byte changed, a part removed, doubled or moved, a piece of syntax put in.
void mutate(Random& random, std::string& source) {
  static constexpr std::string_view kPieces[] = {"{{",
                                                 "}}",
                                                 "{%",
                                                 "%}",
                                                 "{#",
                                                 "#}",
                                                 "-",
                                                 "+",
                                                 "(",
                                                 ")",
                                                 "[",
                                                 "]",
                                                 "'",
                                                 "\"",
                                                 "|",
                                                 ".",
                                                 ",",
                                                 "~",
                                                 " if ",
                                                 " else ",
                                                 " for ",
                                                 " in ",
                                                 " is ",
                                                 " not ",
                                                 " loop",
                                                 "none",
                                                 "9",
                                                 "1e9",
                                                 "{% endif %}",
                                                 "{% endfor %}",
                                                 "{% set x = ",
                                                 "{% macro m(a) %}",
                                                 "{% endmacro %}",
                                                 "m(1)",
                                                 "{% raw %}",
                                                 "|tojson",
                                                 "|list",
                                                 "|map('upper')",
                                                 "[::-1]",
                                                 "\n",
                                                 "\\",
                                                 "\xc3",
                                                 "\xa9"};
  const size_t at = random.below(source.size() + 1);
  const size_t size = random.below(std::min<size_t>(source.size() - at, 40) + 1);
  switch (random.below(5)) {
    case 0:
      if (at < source.size()) source[at] = static_cast<char>(random.below(256));
      break;
    case 1: source.erase(at, size); break;
    case 2: source.insert(random.below(source.size() + 1), source.substr(at, size)); break;
    default: source.insert(at, kPieces[random.below(std::size(kPieces))]); break;
  }
}

TEST(ChatTemplateFuzz, changed_templates_do_not_crash) {
  Random random(test_seed());
  const std::vector<RealTemplate> originals = real_templates();
  for (int rounds = long_or(5'000, 500); rounds > 0; --rounds) {
    const auto& [original, goldens] = originals[random.below(originals.size())];
    std::string source = original;
    for (uint64_t i = 0; i <= random.below(4); ++i) mutate(random, source);
    expect_no_crash(source, goldens.at(random.below(goldens.size())).at("input"));
  }
}

TEST(ChatTemplateFuzz, random_bytes_do_not_crash) {
  Random random(test_seed());
  const OrderedJson variables = client_variables();
  for (int rounds = long_or(20'000, 2'000); rounds > 0; --rounds) {
    std::string source;
    for (uint64_t i = random.below(30); i > 0; --i) {
      if (random.below(2) == 0) {
        mutate(random, source);
      } else {
        source += static_cast<char>(random.below(256));
      }
    }
    expect_no_crash(source, variables);
    expect_no_crash("{{ " + source + " }}", variables);
  }
}

TEST(ChatTemplateFuzz, random_variables_do_not_crash) {
  Random random(test_seed());
  std::vector<ChatTemplate> templates;
  for (const RealTemplate& original : real_templates()) {
    auto parsed = ChatTemplate::parse(original.source);
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    templates.push_back(*std::move(parsed));
  }
  const std::vector<OrderedJson> values = {nullptr,
                                           true,
                                           7,
                                           -1.5,
                                           "",
                                           "user",
                                           "assistant",
                                           "tool",
                                           "</think>",
                                           OrderedJson::array(),
                                           {1, "a"},
                                           OrderedJson::object(),
                                           {{"name", "f"}}};
  const auto any = [&] { return values[random.below(values.size())]; };
  for (int rounds = long_or(5'000, 500); rounds > 0; --rounds) {
    OrderedJson messages = OrderedJson::array();
    for (uint64_t i = random.below(4); i > 0; --i) {
      messages.push_back({{"role", any()},
                          {"content", any()},
                          {"tool_calls", any()},
                          {"reasoning_content", any()}});
    }
    const OrderedJson variables = {{"messages", random.below(20) == 0 ? any() : messages},
                                   {"tools", any()},
                                   {"enable_thinking", any()},
                                   {"reasoning_effort", any()},
                                   {"add_generation_prompt", any()}};
    const ChatTemplate& chat_template = templates[random.below(templates.size())];
    const auto text = chat_template.render(variables, kReferenceNow);
    ASSERT_TRUE(text.ok() || text.error().field == "chat_template");
  }
}

}  // namespace
}  // namespace cascade::testing
