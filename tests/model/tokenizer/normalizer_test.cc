// Normalisation, and how marks move with the text.
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/tokenizer/normalizer.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

std::string normalize(const Json& json, std::string text, std::vector<TextMark>* marks = nullptr) {
  const auto normalizer = Normalizer::load(&json, "normalizer");
  EXPECT_TRUE(normalizer.ok()) << normalizer.error().to_string();
  std::vector<TextMark> no_marks;
  TextBudget budget(text.size());
  RegexScratch scratch(budget);
  const Status status = normalizer->apply(text, marks == nullptr ? no_marks : *marks, scratch);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
  return text;
}

Json form(const char* name) {
  return {{"type", name}};
}

std::string by_utf8proc(const std::string& text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &out,
                                 static_cast<utf8proc_option_t>(options));
  EXPECT_GE(size, 0);
  std::string result(reinterpret_cast<const char*>(out), static_cast<size_t>(size));
  std::free(out);
  return result;
}

TEST(TokenizerNormalizer, known_forms) {
  EXPECT_EQ(normalize(form("NFC"), "e\u0301A\u030A"), "\u00E9\u00C5");
  EXPECT_EQ(normalize(form("NFD"), "\u00E9\u1E69"), "e\u0301s\u0323\u0307");
  EXPECT_EQ(normalize(form("NFKC"), "\uFB01\u00B2\u2460"), "fi21");
  EXPECT_EQ(normalize(form("NFKD"), "\uFDFA").size(), 33u);
  EXPECT_EQ(normalize(form("NFC"), "s\u0307\u0323"), "\u1E69");
  EXPECT_EQ(normalize(form("NFC"), "\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(normalize(form("NFC"), "plain"), "plain");
  EXPECT_EQ(normalize(form("NFC"), ""), "");
}

TEST(TokenizerNormalizer, forms_equal_those_of_the_library) {
  Random random(test_seed());
  const std::vector<std::pair<const char*, int>> forms = {
      {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
      {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
      {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
      {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
  for (int round = 0; round < 400; ++round) {
    std::string text = random_text(random, random.below(60));
    for (int i = 0; i < 20; ++i) {
      utf8_append(text, static_cast<uint32_t>(random.below(3) == 0 ? 'a' + random.below(26)
                                                                   : 0x300 + random.below(0x70)));
    }
    for (const auto& [name, options] : forms) {
      EXPECT_EQ(normalize(form(name), text), by_utf8proc(text, options));
    }
  }
}

// The library alone would take quadratic time here.
TEST(TokenizerNormalizer, a_long_run_of_marks_is_ordered) {
  std::string text = "a";
  constexpr size_t kPairs = 500'000;
  for (size_t i = 0; i < kPairs; ++i) text += "\u0301\u0323";
  const std::string normalized = normalize(form("NFD"), text);
  ASSERT_EQ(normalized.size(), text.size());
  EXPECT_EQ(normalized.substr(1, 4), "\u0323\u0323");
  EXPECT_EQ(normalized.substr(normalized.size() - 4), "\u0301\u0301");
}

TEST(TokenizerNormalizer, steps) {
  const Json prepend = {{"type", "Prepend"}, {"prepend", "_"}};
  EXPECT_EQ(normalize(prepend, "Hello"), "_Hello");
  EXPECT_EQ(normalize(prepend, ""), "");
  const auto replace = [](const char* kind, const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
  };
  EXPECT_EQ(normalize(replace("String", "''", "\""), "This is a ''test''"), "This is a \"test\"");
  EXPECT_EQ(normalize(replace("String", "aa", "b"), "aaaaa"), "bba");
  EXPECT_EQ(normalize(replace("Regex", R"(\s+)", " "), "This     is   a         test"),
            "This is a test");
  EXPECT_EQ(normalize(replace("String", "x", ""), "xaxbx"), "ab");
  const auto strip = [](bool left, bool right) {
    return Json{{"type", "Strip"}, {"strip_left", left}, {"strip_right", right}};
  };
  EXPECT_EQ(normalize(strip(true, false), " \u3000a "), "a ");
  EXPECT_EQ(normalize(strip(false, true), " a \u3000"), " a");
  EXPECT_EQ(normalize(strip(true, true), " \n "), "");
  const Json both = {{"type", "Sequence"}, {"normalizers", {prepend, replace("String", "_", "+")}}};
  EXPECT_EQ(normalize(both, "a_"), "+a+");
}

TEST(TokenizerNormalizer, growth_is_limited) {
  const Json grow = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  const Json json = {{"type", "Sequence"}, {"normalizers", {grow, grow, grow}}};
  const auto normalizer = Normalizer::load(&json, "normalizer");
  ASSERT_TRUE(normalizer.ok());
  std::vector<TextMark> marks;
  std::string text = "a";
  TextBudget budget(text.size());
  RegexScratch scratch(budget);
  const Status status = normalizer->apply(text, marks, scratch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().field, "text");
}

// A prefix that is added before each section of a text counts towards the text as a whole.
TEST(TokenizerNormalizer, all_sections_share_the_budget) {
  const Json json = {{"type", "Prepend"}, {"prepend", std::string(1000, 'a')}};
  const auto normalizer = Normalizer::load(&json, "normalizer");
  ASSERT_TRUE(normalizer.ok());
  std::vector<TextMark> marks;
  TextBudget budget(1000);
  RegexScratch scratch(budget);
  const size_t sections = budget.bytes_left() / 1001;
  for (size_t i = 0; i < sections; ++i) {
    std::string text = "b";
    ASSERT_TRUE(normalizer->apply(text, marks, scratch).ok());
  }
  std::string text = "b";
  EXPECT_FALSE(normalizer->apply(text, marks, scratch).ok());
}

std::vector<TextMark> moved(const Json& json, const std::string& text,
                            std::vector<TextMark> marks) {
  normalize(json, text, &marks);
  return marks;
}

TEST(TokenizerNormalizer, marks_move_with_the_text) {
  using Marks = std::vector<TextMark>;
  const Json prepend = {{"type", "Prepend"}, {"prepend", "__"}};
  EXPECT_EQ(moved(prepend, "abc", {{0, false}, {2, true}}), (Marks{{0, false}, {4, true}}));
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "bc"}}}, {"content", "xyz"}};
  EXPECT_EQ(moved(replace, "abcd", {{1, false}, {3, true}}), (Marks{{1, false}, {4, true}}));
  EXPECT_EQ(moved(replace, "abcd", {{2, false}, {4, true}}), (Marks{{4, false}, {5, true}}));
  EXPECT_EQ(moved(replace, "abcd", {{0, false}, {2, true}}), (Marks{{0, false}, {1, true}}));
  const Json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  EXPECT_EQ(moved(strip, "  ab ", {{1, false}, {5, true}}), (Marks{{0, false}, {2, true}}));
}

TEST(TokenizerNormalizer, marks_within_a_composition_keep_it_outside) {
  using Marks = std::vector<TextMark>;
  const std::string text = "xe\u0301\u65E5y";  // x e U+0301 U+65E5 y: 0 1 2 4 7
  EXPECT_EQ(moved(form("NFC"), text, {{4, false}, {7, true}}), (Marks{{3, false}, {6, true}}));
  EXPECT_EQ(moved(form("NFC"), text, {{2, false}, {8, true}}), (Marks{{6, false}, {7, true}}));
  EXPECT_EQ(moved(form("NFC"), text, {{0, false}, {2, true}}), (Marks{{0, false}, {1, true}}));
  EXPECT_EQ(moved(form("NFC"), text, {{0, false}, {8, true}}), (Marks{{0, false}, {7, true}}));
}

TEST(TokenizerNormalizer, malformed_files_are_refused) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"("NFC")", "normalizer"},
      {R"({})", "normalizer.type"},
      {R"({"type":"Lowercase"})", "normalizer.type"},
      {R"({"type":"NFC","extra":1})", "normalizer.extra"},
      {R"({"type":"Prepend"})", "normalizer.prepend"},
      {R"({"type":"Prepend","prepend":7})", "normalizer.prepend"},
      {R"({"type":"Sequence","normalizers":{}})", "normalizer.normalizers"},
      {R"({"type":"Sequence","normalizers":[{"type":"NFC"},3]})", "normalizer.normalizers[1]"},
      {R"({"type":"Replace","content":"a"})", "normalizer.pattern"},
      {R"({"type":"Replace","pattern":{"String":""},"content":"a"})", "normalizer.pattern.String"},
      {R"({"type":"Replace","pattern":{"Regex":"("},"content":"a"})", "normalizer.pattern.Regex"},
      {R"({"type":"Replace","pattern":{"Regex":"a+"},"content":"$1"})", "normalizer.content"},
      {R"({"type":"Replace","pattern":{"Glob":"*"},"content":""})", "normalizer.pattern.Glob"},
      {R"({"type":"Strip","strip_left":true})", "normalizer.strip_right"}};
  for (const auto& [text, field] : cases) {
    const Json json = Json::parse(text);
    const auto loaded = Normalizer::load(&json, "normalizer");
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_EQ(loaded.error().field, field) << text;
  }
}

}  // namespace
}  // namespace cascade::testing
