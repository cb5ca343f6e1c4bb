// How the pre-tokenizers that GGUF files name cut text. The expected pieces are what the families'
// own expressions gave in another engine.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/gguf/header.h"
#include "model/gguf/pre_tokenizers.h"
#include "model/gguf/tokenizer.h"
#include "tests/model/gguf/small_model.h"
#include "tests/model/tokenizer/pieces.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

using Names = std::vector<const char*>;

// The pieces before bytes are spelled.
Pieces pieces_of(std::string_view name, std::string_view text) {
  auto found = gguf_pre_tokenizer(name);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  if (!found.ok()) return {};
  Json& steps = found->pre_tokenizer["pretokenizers"];
  EXPECT_EQ(steps.back()["type"], "ByteLevel") << name;
  steps.erase(steps.size() - 1);
  return split(found->pre_tokenizer, text);
}

// The pieces with a bar between them.
std::string cut(std::string_view name, std::string_view text) {
  std::string joined;
  for (const std::string& piece : pieces_of(name, text)) {
    joined += (joined.empty() ? "" : "|") + piece;
  }
  return joined;
}

// A contraction in capitals, digits, words with capitals in them, signs, line ends and spaces tell
// most families apart.
TEST(GgufPreTokenizers, names_of_a_family_cut_alike) {
  const std::string text = "it'S 12345 HelloWORLD's a/b!?\n\n  x";
  const std::pair<Names, const char*> families[] = {
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat",
        "a.x-4.0", "mellum", "modern-bert", "exaone4", "jina-v1-en", "jina-v2-code", "jina-v2-es",
        "jina-v2-de", "jina-es", "jina-de", "roberta-bpe"},
       "it|'|S| 12345| HelloWORLD|'s| a|/|b|!?|\n\n | x"},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
        "mellum2"},
       "it|'|S| |1|2|3|4|5| HelloWORLD|'s| a|/|b|!?|\n\n | x"},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano", "dbrx", "smaug-bpe", "glm4", "chatglm-bpe", "jais-2", "minicpm5",
        "deepseek-v3", "hunyuan-dense", "joyai-llm"},
       "it|'S| |123|45| HelloWORLD|'s| a|/b|!?\n\n| | x"},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "kormo", "f2llmv2", "solar-open",
        "grok-2", "bailingmoe", "bailingmoe2", "llada-moe", "hunyuan", "qwen35", "ufakzeka"},
       "it|'S| |1|2|3|4|5| HelloWORLD|'s| a|/b|!?\n\n| | x"},
      {{"seed-coder", "laguna"}, "it|'S| |1|2|3|4|5| HelloWORLD|'s| a|/b|!?|\n\n| | x"},
      {{"exaone-moe"}, "it|'S| |1|2|3|4|5| HelloWORLD|'s| a|/b|!?\n|\n| | x"},
      {{"tekken"}, "it|'S| |1|2|3|4|5| Hello|WORLD|'s| a|/b|!?\n\n| | x"},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "granite-embed-multi-97m",
        "kimi-k2"},
       "it'S| |123|45| Hello|WORLD's| a|/b|!?\n\n| | x"},
      {{"tiny_aya", "cohere2moe"}, "it'S| |12|345| Hello|WORLD's| a|/b|!?\n\n| | x"},
      {{"youtu"}, "it'S| |1|2|3|4|5| Hello|WORLD's| a|/b|!?\n\n| | x"},
      {{"deepseek-llm", "deepseek-coder"},
       "it|'|S| |1|2|3|4|5| HelloWORLD|'|s| a|/|b|!?|\n|\n| | x"},
      {{"afmoe"}, "it|'S| |12|345| HelloWORLD|'s| a|/b|!?\n\n| | x"},
      {{"bloom", "poro-chat", "gpt3-finnish"}, "it'S| 12345| HelloWORLD's| a/b|!?\n\n | x"},
      {{"viking"}, "it'S| |1|2|3|4|5| HelloWORLD's| a/b|!?\n\n | x"},
      {{"superbpe"}, "it'S |12|345| HelloWORLD's a/b!?\n\n  x"},
      {{"chameleon"}, "it|'|S| |1|2|3|4|5| HelloWORLD|'|s| a|/|b|!|?|\n|\n|  |x"},
      {{"falcon"}, "it|'|S| |123|45| HelloWORLD|'|s| a|/|b|!?|\n\n | x"},
      {{"default"}, "it|'|S| |123|45| HelloWORLD|'|s| a|/|b|!?|\n\n | x"},
  };
  size_t names = 0;
  for (const auto& [members, pieces] : families) {
    names += members.size();
    for (const char* name : members) EXPECT_EQ(cut(name, text), pieces) << name;
  }
  EXPECT_EQ(names, gguf_pre_tokenizer_names().size()) << "each name of the table is in this test";
}

TEST(GgufPreTokenizers, every_name_makes_a_tokenizer) {
  for (const std::string_view name : gguf_pre_tokenizer_names()) {
    const std::string file = SmallModel{.without = {"pre"}}.file([&](GgufWriter& out) {
      out.text("tokenizer.ggml.pre", std::string(name));
      out.u32("tokenizer.ggml.bos_token_id", 258);
    });
    const auto header = parse_gguf_header(bytes_of(file));
    ASSERT_TRUE(header.ok()) << header.error().to_string();
    const auto tokenizer = gguf_tokenizer(header->metadata);
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.error().to_string();
    EXPECT_EQ(tokenizer->decode(encode(*tokenizer, "abc 12"), false), "abc 12") << name;
  }
}

TEST(GgufPreTokenizers, qwen35_keeps_marks_with_their_letters) {
  EXPECT_EQ(cut("qwen35", "\u0915\u093F\u0924\u093E\u092C \u0941!"),
            "\u0915\u093F\u0924\u093E\u092C| \u0941|!");
  EXPECT_EQ(cut("qwen2", "\u0915\u093F\u0924\u093E\u092C \u0941!"),
            "\u0915|\u093F\u0924|\u093E\u092C| \u0941!");
}

TEST(GgufPreTokenizers, jais_2_cuts_white_space_at_powers_of_two) {
  EXPECT_EQ(cut("jais-2", "a       b"), "a|    |  | b");
  EXPECT_EQ(cut("jais-2", std::string(23, ' ') + "x"), "                |    |  | x");
  EXPECT_EQ(cut("jais-2", "  \n" + std::string(20, ' ')), "  \n|                |    ");
  EXPECT_EQ(pieces_of("jais-2", std::string(1024, ' ')).size(), 2u);
}

// The white space before a number is a piece of its own, and keeps its last character.
TEST(GgufPreTokenizers, minicpm5_cuts_numbers_before_words) {
  EXPECT_EQ(cut("minicpm5", "a  1234"), "a|  |123|4");
  EXPECT_EQ(cut("llama3", "a  1234"), "a| | |123|4");
}

TEST(GgufPreTokenizers, laguna_cuts_line_ends_first) {
  EXPECT_EQ(cut("laguna", " \n\n x"), " |\n\n| x");
  EXPECT_EQ(cut("laguna", "a.\nb"), "a|.|\n|b");
  EXPECT_EQ(cut("laguna", "\r\n"), "\r|\n");
}

TEST(GgufPreTokenizers, seed_coder_and_ufakzeka_differ_from_qwen2_in_one_alternative) {
  EXPECT_EQ(cut("seed-coder", "a ?!\n\nb it's"), "a| ?!|\n\n|b| it|'s");
  EXPECT_EQ(cut("ufakzeka", "it's 'll"), "it|'s| '|ll");
  EXPECT_EQ(cut("ufakzeka", "'llama"), "'llama");
  EXPECT_EQ(cut("qwen2", "'llama"), "'ll|ama");
}

TEST(GgufPreTokenizers, exaone_moe_joins_words_that_single_spaces_part) {
  EXPECT_EQ(cut("exaone-moe", "the big cat's  hat, 12 no"), "the big cat|'s| | hat|,| |1|2| no");
  EXPECT_EQ(cut("exaone-moe", "a /b\n\n"), "a| /|b|\n\n");
  EXPECT_EQ(cut("exaone-moe", "\u0915\u093F\u0924 e\u0301 \u0301"),
            "\u0915\u093F\u0924 e\u0301| \u0301");
}

TEST(GgufPreTokenizers, some_cut_numbers_in_threes_from_the_right) {
  EXPECT_EQ(cut("tiny_aya", "1234567 12 x1234 12,345"), "1|234|567| |12| x|1|234| |12|,|345");
  EXPECT_EQ(cut("tiny_aya", "12345a"), "123|45|a") << "not where a letter follows";
  EXPECT_EQ(cut("afmoe", "1234567 12 x1234a"), "1|234|567| |12| x|1|234|a");
  EXPECT_EQ(cut("superbpe", "By the way, 1234567 of 12 x123."),
            "By the way, |1|234|567| of |12| x|123|.");
}

TEST(GgufPreTokenizers, kimi_k2_keeps_runs_of_chinese_characters) {
  EXPECT_EQ(cut("kimi-k2", "\u4F60\u597DWorld\u3001Foo\u4E00"),
            "\u4F60\u597D|World|\u3001Foo|\u4E00");
  EXPECT_EQ(cut("kimi-k2", "FooBar's\u3005 123 a/\n/"), "Foo|Bar's|\u3005| |123| a|/\n|/");
  EXPECT_EQ(cut("kimi-k2", "\u00A0\u0E01\u4E00\u0E01"), "\u00A0\u0E01|\u4E00|\u0E01");
  EXPECT_EQ(cut("gpt-4o", "\u4F60\u597DWorld a/\n/"), "\u4F60\u597DWorld| a|/\n/");
}

TEST(GgufPreTokenizers, youtu_cuts_scripts_of_east_asia_from_each_other) {
  EXPECT_EQ(cut("youtu", "\uAC00\uB098abc\u4F60\u597D\u3001\u3042\u3105\u3106 12"),
            "\uAC00\uB098|abc|\u4F60\u597D|\u3001|\u3042|\u3105\u3106| |1|2");
  EXPECT_EQ(cut("youtu", "FooBar's"), "Foo|Bar's");
}

TEST(GgufPreTokenizers, deepseek_llm_cuts_letters_of_its_list_signs_and_asian_text) {
  EXPECT_EQ(cut("deepseek-llm", "\r\n\n"), "\r|\n|\n");
  // U+1F7D is also in the range that is cut as Asian; U+0561 is not in the list.
  EXPECT_EQ(cut("deepseek-llm", " \u03A9\u00E9\u1F7D\u0561 x"), " \u03A9\u00E9|\u1F7D|\u0561| x");
  EXPECT_EQ(cut("deepseek-llm", "a \uFF01\u3002b!?c"), "a| \uFF01|\u3002|b|!?|c");
  EXPECT_EQ(cut("deepseek-llm", "x \u4F60\u597D\uAC00 12"), "x| |\u4F60\u597D\uAC00| |1|2");
  EXPECT_EQ(cut("deepseek-llm", "1  2   "), "1|  |2|   ");
}

TEST(GgufPreTokenizers, deepseek_coder_cuts_all_letters_and_punctuation) {
  EXPECT_EQ(cut("deepseek-coder", "it's 12\u0561 "), "it|'|s| |1|2|\u0561| ");
  EXPECT_EQ(cut("deepseek-coder", "x \u4F60\u597D\uAC00 a.b!? $ 12\n"),
            "x| |\u4F60\u597D\uAC00| a|.|b|!?| $ |1|2|\n");
}

TEST(GgufPreTokenizers, deepseek_v3_joins_a_sign_and_the_latin_letters_after_it) {
  EXPECT_EQ(cut("deepseek-v3", "a.b (c)+d $5 12345 \u4F60\u597D\u30AB\uAC00!\n\n"),
            "a|.b| (|c|)+|d| $|5| |123|45| |\u4F60\u597D\u30AB|\uAC00|!\n\n");
  EXPECT_EQ(cut("deepseek-v3", " e\u0301x' \u00BD's"), " e\u0301x|'| |\u00BD|'s");
  EXPECT_EQ(cut("afmoe", "\u4F60\u597D\uAC00\u0E40\u0E01a.b"),
            "\u4F60\u597D\uAC00\u0E40|\u0E01a|.b");
}

TEST(GgufPreTokenizers, bloom_cuts_punctuation_from_words) {
  const std::string text = "Hi, (a b)! \u4F60\u597D\uFF0C x 12.34 \u0627\u060C\u0627";
  EXPECT_EQ(cut("bloom", text),
            "Hi|, (|a| b|)!| \u4F60\u597D|\uFF0C| x| 12|.|34| \u0627|\u060C|\u0627");
  EXPECT_EQ(cut("viking", text),
            "Hi|, (|a| b|)!| \u4F60\u597D|\uFF0C| x| |1|2|.|3|4| \u0627|\u060C|\u0627");
  EXPECT_EQ(pieces_of("bloom", "x|y"), (Pieces{"x", "|", "y"}));
}

TEST(GgufPreTokenizers, chameleon_keeps_codes_of_images) {
  EXPECT_EQ(cut("chameleon", "aIMGIMGABZ\tx    y  z"), "a|IMGIMGABZ|\t|x|    |y|  |z");
  EXPECT_EQ(cut("chameleon", "<sentinel:12> $-\n"), "<|sentinel|:|1|2|>| |$|-|\n");
}

TEST(GgufPreTokenizers, properties_of_families_are_those_of_their_tokenizers) {
  const auto has = [](const char* name, bool composes, bool ignores_merges, bool adds_begin) {
    const auto found = gguf_pre_tokenizer(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(!found->normalizer.is_null(), composes) << name;
    EXPECT_EQ(found->ignores_merges, ignores_merges) << name;
    EXPECT_EQ(found->adds_begin_token, adds_begin) << name;
  };
  for (const char* name : {"qwen2", "qwen35"}) has(name, true, false, false);
  for (const char* name : {"gpt-2", "glm4", "deepseek-v3", "bloom", "default"}) {
    has(name, false, false, false);
  }
  for (const char* name : {"llama3", "lfm2", "falcon-h1", "pixtral", "tekken"}) {
    has(name, false, true, true);
  }
  for (const char* name : {"youtu", "minicpm5", "granite-embed-multi-97m", "kimi-k2"}) {
    has(name, false, true, false);
  }
  has("hunyuan", true, true, false);
  has("chameleon", false, false, true);
}

// Matches over long runs stay within the limits of expressions.
TEST(GgufPreTokenizers, long_runs_of_one_kind_are_cut) {
  constexpr size_t kSize = 6000;
  std::string words, thai;
  while (words.size() < kSize) words += "ab C ";
  while (thai.size() < kSize) thai += "\u0E01\u0E34";
  const std::string texts[] = {std::string(kSize, 'a'),
                               std::string(kSize, ' ') + "x",
                               std::string(kSize, '7'),
                               std::string(kSize, '\n'),
                               std::string(kSize, '!'),
                               words,
                               thai};
  for (const char* name :
       {"gpt-2",        "smollm",         "llama3",      "jais-2",     "minicpm5",
        "qwen35",       "ufakzeka",       "seed-coder",  "exaone-moe", "laguna",
        "tekken",       "gpt-4o",         "tiny_aya",    "youtu",      "kimi-k2",
        "deepseek-llm", "deepseek-coder", "deepseek-v3", "afmoe",      "bloom",
        "viking",       "superbpe",       "chameleon",   "falcon",     "default"}) {
    for (const std::string& text : texts) {
      std::string joined;
      for (const std::string& piece : pieces_of(name, text)) joined += piece;
      EXPECT_EQ(joined, text) << name;
    }
  }
}

}  // namespace
}  // namespace cascade::testing
