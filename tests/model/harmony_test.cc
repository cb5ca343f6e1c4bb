// The parts of generations in harmony, as models write them and as they should.
#include "model/harmony.h"

#include <gtest/gtest.h>

#include "tests/model/harmony_testing.h"
#include "tests/model/output_testing.h"

namespace cascade::testing {
namespace {

struct HeaderCase {
  std::string role, channel, rest;
  HarmonyPart part;
  std::string function;
};

TEST(Harmony, headers_say_what_a_message_is) {
  const HeaderCase cases[] = {
      {"assistant", "analysis", "", HarmonyPart::kThoughts, ""},
      {"", "analysis", "", HarmonyPart::kThoughts, ""},
      {"assistant", "final", "", HarmonyPart::kAnswer, ""},
      {"assistant", "final ", "json", HarmonyPart::kAnswer, ""},
      {"assistant", "commentary", "", HarmonyPart::kAnswer, ""},
      {"assistant", "", "", HarmonyPart::kAnswer, ""},
      {"assistant", "commentary?", "", HarmonyPart::kAnswer, ""},
      {"assistant", "commentary to=functions.f ", "json", HarmonyPart::kCall, "f"},
      {"assistant", "commentary to=functions.f code", "", HarmonyPart::kCall, "f"},
      {"assistant to=functions.f", "commentary json", "", HarmonyPart::kCall, "f"},
      {" to=functions.a.b", "commentary", "json", HarmonyPart::kCall, "a.b"},
      {"to=f", "", "", HarmonyPart::kCall, "f"},
      {"assistant", "analysis to=python code", "", HarmonyPart::kCall, "python"},
      {"assistant", "analysis", "commentary to=functions.f ", HarmonyPart::kCall, "f"},
      {"assistant", "analysis to=assistant", "", HarmonyPart::kThoughts, ""},
      {"assistant", "commentary to=all", "", HarmonyPart::kAnswer, ""},
      {"assistant to=", "final", "", HarmonyPart::kAnswer, ""},
      {"user", "", "", HarmonyPart::kOthers, ""},
      {"functions.f to=assistant", "commentary", "", HarmonyPart::kOthers, ""},
  };
  for (const HeaderCase& one : cases) {
    const HarmonyHeader header = read_harmony_header(one.role, one.channel, one.rest);
    EXPECT_EQ(header.part, one.part) << one.role << "|" << one.channel << "|" << one.rest;
    EXPECT_EQ(header.function, one.function) << one.role << "|" << one.channel;
  }
}

TEST(Harmony, a_model_without_its_four_marks_does_not_write_it) {
  EXPECT_FALSE(HarmonyTokens::of(demo_tokenizer()));
  const auto tokens = HarmonyTokens::of(harmony_tokenizer());
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->id(HarmonyMark::kStart), 8192);
  EXPECT_EQ(tokens->id(HarmonyMark::kReturn), 8198);
  EXPECT_EQ(tokens->mark_of(8193), HarmonyMark::kChannel);
  EXPECT_FALSE(tokens->mark_of(1));
  EXPECT_FALSE(tokens->mark_of(-1));
}

TEST(Harmony, a_message_does_not_end_a_generation_but_a_call_and_an_answer_do) {
  const HarmonyTokens tokens = *HarmonyTokens::of(harmony_tokenizer());
  const int32_t end = tokens.id(HarmonyMark::kEnd), call = tokens.id(HarmonyMark::kCall);
  const int32_t done = tokens.id(HarmonyMark::kReturn);
  std::vector<int32_t> ends = {end, 7, done};
  tokens.correct_end_tokens(ends);
  EXPECT_EQ(ends, (std::vector<int32_t>{7, done, call}));
  tokens.correct_end_tokens(ends);
  EXPECT_EQ(ends.size(), 3u);
}

// The part after each token, as letters; a capital letter if the token is its text.
std::string parts_of(std::string_view text, HarmonyPart begins = HarmonyPart::kHeader) {
  const HarmonyTokens tokens = *HarmonyTokens::of(harmony_tokenizer());
  HarmonyReader reader(begins);
  std::string parts;
  for (const int32_t id : harmony_ids(text)) {
    const auto mark = tokens.mark_of(id);
    bool is_text = false;
    if (mark) {
      reader.push(*mark);
    } else {
      is_text = reader.push(harmony_tokenizer().decode(std::span(&id, 1), true));
    }
    const char part = (is_text ? "HTACO" : "htaco")[static_cast<size_t>(reader.part())];
    if (!parts.ends_with(part)) parts += part;
  }
  return parts;
}

TEST(Harmony, a_reader_is_in_the_part_that_the_last_header_named) {
  EXPECT_EQ(parts_of("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
                     "<|message|>Yes<|return|>"),
            "htThaAh");
  EXPECT_EQ(parts_of(" to=functions.f<|channel|>commentary json<|message|>{}<|call|>"), "hcCh");
  EXPECT_EQ(parts_of("<|channel|>commentary to=functions.f<|channel|>commentary<|message|>{}"),
            "hcC");
  EXPECT_EQ(parts_of("<|channel|>final<|message|>a<|message|>b<|constrain|>c"), "haAaAaA");
  EXPECT_EQ(parts_of("<|channel|>final<|message|>a<|channel|>analysis<|message|>b"), "haAhtT");
  EXPECT_EQ(parts_of("<|channel|>final<|message|>a<|start|>user<|message|>b"), "haAhoO");
  EXPECT_EQ(parts_of("<|channel|>final<|message|>a<|start|>user<|end|>b"), "haAhoO");
  EXPECT_EQ(parts_of("<|channel|>final<|message|>a<|end|>user<|start|>assistant<|message|>b"),
            "haAhaA");
}

TEST(Harmony, text_without_a_header_is_an_answer) {
  EXPECT_EQ(parts_of("Hello there"), "A");
  EXPECT_EQ(parts_of("\n\nHello"), "A");
  EXPECT_EQ(parts_of("more<|channel|>analysis<|message|>b", HarmonyPart::kAnswer), "AhtT");
  EXPECT_EQ(parts_of("more<|end|>", HarmonyPart::kThoughts), "Th");
}

TEST(Harmony, a_raw_text_has_marks_of_its_own) {
  EXPECT_TRUE(is_harmony_text("<|channel|>final<|message|><think>"));
  EXPECT_TRUE(is_harmony_text(" to=functions.f<|message|>{}"));
  EXPECT_TRUE(is_harmony_text("a<|end|>"));
  EXPECT_FALSE(is_harmony_text("<think>What is <|channel|>?</think>"));
  EXPECT_FALSE(is_harmony_text(" to=be or not"));
  EXPECT_FALSE(is_harmony_text(""));
}

TEST(Harmony, thoughts_are_the_messages_of_analysis_without_a_recipient) {
  EXPECT_EQ(harmony_thoughts("<|channel|>analysis<|message|>a\n<|end|><|start|>assistant<|channel|>"
                             "analysis<|message|>b <| c<|end|><|start|>assistant<|channel|>final"
                             "<|message|>d"),
            "a\nb <| c");
  EXPECT_EQ(harmony_thoughts("<|channel|>analysis to=functions.f<|message|>{}"), "");
  EXPECT_EQ(harmony_thoughts("<|channel|>commentary to=functions.f<|channel|>analysis"
                             "<|message|>a"),
            "");
  EXPECT_EQ(harmony_thoughts("<|channel|>final<|message|>a"), "");
  EXPECT_EQ(harmony_thoughts("<|channel|>analysis<|message|>cut"), "cut");
  EXPECT_EQ(harmony_thoughts("<|channel|>analysis"), "");
  EXPECT_EQ(harmony_thoughts("a <|channel|>analysis<|message|>b"), "b");
  EXPECT_EQ(harmony_thoughts(" to=functions.now json<|message|>{}<|call|>"), "");
  EXPECT_EQ(harmony_thoughts("a<|end|><|start|>user\nb<|end|>c"), "");
}

}  // namespace
}  // namespace cascade::testing
