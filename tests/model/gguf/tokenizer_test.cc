// Tokenizers of GGUF files give the ids of the reference, and those of the same model's
// tokenizer.json.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>

#include "model/gguf/header.h"
#include "model/gguf/tokenizer.h"
#include "model/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/small_model.h"
#include "tests/model/tokenizer/testing.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

// The parts between lines of `separator`.
std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != text.npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Ids numbers_of(const std::string& line) {
  Ids ids;
  std::istringstream in(line);
  for (int32_t id = 0; in >> id;) ids.push_back(id);
  return ids;
}

class GgufVocab : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufVocab, texts_have_the_ids_of_the_reference) {
  REQUIRE_SHARED("fixtures/gguf-vocab");
  const std::string path = (shared_dir() / "fixtures/gguf-vocab" / GetParam()).string();
  const auto text = load_model_text(path);
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  auto inputs = split_at(*read_file(path + ".inp", 1 << 20), "\n__ggml_vocab_test__\n");
  const auto outputs = split_at(*read_file(path + ".out", 1 << 20), "\n");
  // The last part of each file is the text after its last separator.
  ASSERT_GE(inputs.size(), 40u);
  ASSERT_EQ(inputs.size(), outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(encode(text->tokenizer, inputs[i], true), numbers_of(outputs[i]))
        << Json(inputs[i]).dump();
  }
}
INSTANTIATE_TEST_SUITE_P(Files, GgufVocab, ::testing::Values("gpt-2.gguf", "llama-spm.gguf"));

TEST(GgufTokenizer, sentence_piece_text_comes_back) {
  REQUIRE_SHARED("fixtures/gguf-vocab");
  const auto text = load_model_text(shared_dir() / "fixtures/gguf-vocab/llama-spm.gguf");
  ASSERT_TRUE(text.ok());
  Random random(test_seed());
  for (int i = 0; i < 200; ++i) {
    const std::string sample = random_text(random, 40);
    if (sample.find("\u2581") != std::string::npos) continue;  // U+2581 reads as a space
    const auto ids = text->tokenizer.encode(sample, false, true);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(ids->front(), 1) << "BOS, as the file says";
    EXPECT_EQ(text->tokenizer.decode(*ids, true), sample);
  }
}

TEST(GgufTokenizer, of_the_demo_model_gives_the_ids_of_its_tokenizer_json) {
  GgufWriter out;
  write_metadata(demo_model_dir(), out);
  const std::string file = out.file();
  const auto header = parse_gguf_header(bytes_of(file));
  ASSERT_TRUE(header.ok()) << header.error().to_string();
  const auto gguf = gguf_tokenizer(header->metadata);
  ASSERT_TRUE(gguf.ok()) << gguf.error().to_string();
  const Tokenizer json = load_demo_tokenizer();
  EXPECT_EQ(gguf->id_count(), json.id_count());
  Random random(test_seed());
  for (int i = 0; i < 400; ++i) {
    std::string sample = random_text(random, 60);
    if (i % 4 == 0) sample.insert(sample.size() / 2, "<|im_end|><think>");
    if (!is_utf8(sample)) continue;
    for (const bool trusted : {false, true}) {
      const Ids ids = encode(json, sample, trusted);
      ASSERT_EQ(encode(*gguf, sample, trusted), ids) << Json(sample).dump();
      EXPECT_EQ(gguf->decode(ids, false), json.decode(ids, false));
      EXPECT_EQ(gguf->decode(ids, true), json.decode(ids, true));
    }
  }
}

Result<Tokenizer> tokenizer_of(const SmallModel& small,
                               const std::function<void(GgufWriter&)>& add) {
  static std::string file;  // views into it are valid until the next call
  file = small.file(add);
  const auto header = parse_gguf_header(bytes_of(file));
  EXPECT_TRUE(header.ok()) << header.error().to_string();
  return gguf_tokenizer(header->metadata);
}

TEST(GgufTokenizer, what_is_not_known_is_refused_by_name) {
  const auto refused = [](const char* leave_out, const char* key, const char* value) {
    const auto loaded =
        tokenizer_of({.without = {leave_out}}, [&](GgufWriter& out) { out.text(key, value); });
    ASSERT_FALSE(loaded.ok()) << value;
    EXPECT_EQ(loaded.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(loaded.error().field, key);
    EXPECT_NE(loaded.error().message.find(value), std::string::npos);
  };
  for (const char* model : {"bert", "t5", "rwkv", "none", ""}) {
    refused("model", "tokenizer.ggml.model", model);
  }
  for (const char* pre : {"hy_v4", "whitespace", "QWEN2", "", "future-2030"}) {
    refused("pre", "tokenizer.ggml.pre", pre);
  }
  const auto missing = tokenizer_of({.without = {"pre"}}, [](GgufWriter&) {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().field, "tokenizer.ggml.pre");
}

// How each name cuts is in pre_tokenizers_test.cc.
TEST(GgufTokenizer, no_merge_crosses_a_cut_of_the_pre_tokenizer) {
  // Every pair of characters is a token, so that the ids show where no merge is allowed.
  const std::string sample = "a1234 AbCd it's x/\n";
  const auto pieces_of = [&](const char* pre) {
    std::vector<std::string> names = SmallModel::tokens();
    std::vector<int32_t> types = SmallModel::types();
    std::vector<std::string> merges;
    std::set<std::string> known;
    for (const std::string& text : {sample}) {
      for (size_t i = 0; i + 1 < text.size(); ++i) {
        const std::string left = byte_level_spelling(text.substr(i, 1));
        const std::string right = byte_level_spelling(text.substr(i + 1, 1));
        if (!known.insert(left + right).second) continue;
        names.push_back(left + right);
        types.push_back(1);
        merges.push_back(left + " " + right);
      }
    }
    const auto loaded =
        tokenizer_of({.without = {"pre", "tokens", "types", "merges"}}, [&](GgufWriter& out) {
          out.text("tokenizer.ggml.pre", pre);
          out.texts("tokenizer.ggml.tokens", names);
          out.numbers("tokenizer.ggml.token_type", GgufValueType::kI32, types);
          out.texts("tokenizer.ggml.merges", merges);
          out.flag("tokenizer.ggml.add_bos_token", false);
        });
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    std::string cut;
    for (const std::string& text : token_texts(*loaded, encode(*loaded, sample))) {
      cut += (cut.empty() ? "" : "|") + text;
    }
    return cut;
  };
  EXPECT_EQ(pieces_of("qwen2"), "a|1|2|3|4| A|bC|d| i|t|'s| x|/\n");
  EXPECT_EQ(pieces_of("llama-bpe"), "a|12|3|4| A|bC|d| i|t|'s| x|/\n");
  EXPECT_EQ(pieces_of("gpt-2"), "a|12|34| A|bC|d| i|t|'s| x|/|\n");
  // Capital letters begin words; the o200k family keeps contractions with their words.
  EXPECT_EQ(pieces_of("tekken"), "a|1|2|3|4| A|b|Cd| i|t|'s| x|/\n");
  EXPECT_EQ(pieces_of("gpt-4o"), "a|12|3|4| A|b|Cd| i|t'|s| x|/\n");
}

// A tokenizer with a vocabulary of characters, and pieces with scores, as in SentencePiece.
Tokenizer scored(const std::vector<std::pair<std::string, float>>& pieces) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  std::vector<float> scores = {0, 0, 0};
  for (const auto& [text, score] : pieces) {
    texts.push_back(text);
    types.push_back(1);
    scores.push_back(score);
  }
  auto loaded =
      tokenizer_of({.without = {"model", "tokens", "types", "eos"}}, [&](GgufWriter& out) {
        out.text("tokenizer.ggml.model", "llama");
        out.texts("tokenizer.ggml.tokens", texts);
        out.numbers("tokenizer.ggml.token_type", GgufValueType::kI32, types);
        out.numbers("tokenizer.ggml.scores", GgufValueType::kF32, scores);
        out.u32("tokenizer.ggml.bos_token_id", 1);
        out.flag("tokenizer.ggml.add_space_prefix", false);
      });
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return std::move(loaded).value();
}

std::vector<std::string> cut(const Tokenizer& tokenizer, std::string_view text) {
  return token_texts(tokenizer, encode(tokenizer, text));
}

using Texts = std::vector<std::string>;

TEST(GgufTokenizer, the_piece_with_the_best_score_is_made_first) {
  const Tokenizer right =
      scored({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}, {"abc", -3}});
  EXPECT_EQ(cut(right, "abc"), Texts({"abc"}));
  const Tokenizer without_abc = scored({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}});
  EXPECT_EQ(cut(without_abc, "abc"), Texts({"a", "bc"}));
  EXPECT_EQ(cut(without_abc, "abab"), Texts({"ab", "ab"}));
}

// Merges by rank, of characters: no word is cut, spaces are marked, and bytes stand for characters
// that no token has.
TEST(GgufTokenizer, of_gemma4_merges_characters_across_words) {
  std::vector<std::string> tokens = {"<pad>", "<eos>", "<bos>", "<unk>"};
  std::vector<int32_t> types = {3, 1, 3, 2};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kDigits[size_t(byte / 16)] + kDigits[size_t(byte % 16)] +
                     ">");
    types.push_back(6);
  }
  const auto first = static_cast<int32_t>(tokens.size());
  for (const char* text : {"a", "b", "\u2581", "\n", "\u2581b", "a\u2581b", "\n\n", "<|x>"}) {
    tokens.emplace_back(text);
    types.push_back(tokens.back() == "<|x>" ? 4 : 1);
  }
  GgufWriter out;
  out.text("tokenizer.ggml.model", "gemma4").texts("tokenizer.ggml.tokens", tokens);
  out.numbers("tokenizer.ggml.token_type", GgufValueType::kI32, types);
  out.texts("tokenizer.ggml.merges", {"\u2581 b", "a \u2581b", "\n \n"});
  out.u32("tokenizer.ggml.bos_token_id", 2).flag("tokenizer.ggml.add_bos_token", false);
  const std::string file = out.file();
  const auto header = parse_gguf_header(bytes_of(file));
  ASSERT_TRUE(header.ok()) << header.error().to_string();
  const auto tokenizer = gguf_tokenizer(header->metadata);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
  const auto ids = [&](const std::string& text) { return *tokenizer->encode(text, true, true); };
  const int32_t a = first, mark = first + 2, joined = first + 5, lines = first + 6;
  EXPECT_EQ(ids("a b"), (Ids{2, joined})) << "BOS, whatever the file says";
  EXPECT_EQ(ids(" a"), (Ids{2, mark, a})) << "no mark is put before a text";
  EXPECT_EQ(ids("a\n\na"), (Ids{2, a, lines, a}));
  EXPECT_EQ(ids("a<|x>a"), (Ids{2, a, first + 7, a}));
  EXPECT_EQ(ids("\u00e9"), (Ids{2, 4 + 0xC3, 4 + 0xA9}));
  EXPECT_EQ(tokenizer->decode(ids("a b\n\n\u00e9 a"), true), "a b\n\n\u00e9 a");
}

// If scores are equal, the leftmost pair is joined, whatever its pieces.
TEST(GgufTokenizer, of_equal_scores_the_leftmost_piece_is_made_first) {
  const Tokenizer tied = scored({{"a", -9}, {"b", -9}, {"c", -9}, {"bc", -1}, {"ab", -1}});
  EXPECT_EQ(cut(tied, "abc"), Texts({"ab", "c"}));
  EXPECT_EQ(cut(tied, "bcab"), Texts({"bc", "ab"}));
  // Long words take another path through the code.
  std::string word;
  Texts expected;
  for (int i = 0; i < 40; ++i) {
    word += "abc";
    expected.insert(expected.end(), {"ab", "c"});
  }
  EXPECT_EQ(cut(tied, word), expected);
}

}  // namespace
}  // namespace cascade::testing
