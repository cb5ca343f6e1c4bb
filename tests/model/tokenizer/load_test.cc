// Hostile and unknown tokenizer files: each gives one error that names the field.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

struct Case {
  const char* name;
  std::function<void(Json&)> change;
  ErrorCode code;
  std::string field;
};

constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;
constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;

void check(const Json& base, const std::vector<Case>& cases) {
  ASSERT_TRUE(Tokenizer::load(base, {}).ok());
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Json json = base;
    test.change(json);
    const auto loaded = Tokenizer::load(json, {});
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, test.code) << loaded.error().to_string();
    EXPECT_EQ(loaded.error().field, test.field) << loaded.error().to_string();
    EXPECT_FALSE(loaded.error().message.empty());
    EXPECT_LT(loaded.error().message.size(), 400u);
  }
}

TEST(TokenizerLoad, the_document) {
  for (const char* text : {"null", "[]", "7", "\"x\"", "true", "{}"}) {
    const auto loaded = Tokenizer::load(Json::parse(text), {});
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_EQ(loaded.error().code, kInvalid) << text;
  }
  check(byte_level_json({{"a", "b"}}),
        {{"unknown member", [](Json& j) { j["extra"] = 1; }, kUnsupported, "extra"},
         {"version", [](Json& j) { j["version"] = "2.0"; }, kUnsupported, "version"},
         {"version type", [](Json& j) { j["version"] = 1; }, kInvalid, "version"},
         {"no model", [](Json& j) { j.erase("model"); }, kInvalid, "model"},
         {"model type", [](Json& j) { j["model"] = Json::array(); }, kInvalid, "model"}});
}

TEST(TokenizerLoad, the_model) {
  const auto set = [](const char* key, Json value) {
    return [key, value](Json& j) { j["model"][key] = value; };
  };
  check(byte_level_json({{"a", "b"}}),
        {{"type", set("type", "Unigram"), kUnsupported, "model.type"},
         {"dropout", set("dropout", 0.1), kUnsupported, "model.dropout"},
         {"prefix", set("continuing_subword_prefix", "##"), kUnsupported,
          "model.continuing_subword_prefix"},
         {"suffix", set("end_of_word_suffix", "</w>"), kUnsupported, "model.end_of_word_suffix"},
         {"unknown", set("cache_capacity", 7), kUnsupported, "model.cache_capacity"},
         {"fuse_unk", set("fuse_unk", "yes"), kInvalid, "model.fuse_unk"},
         {"ignore_merges", set("ignore_merges", 1), kInvalid, "model.ignore_merges"},
         {"unk_token type", set("unk_token", 7), kInvalid, "model.unk_token"},
         {"no vocab", [](Json& j) { j["model"].erase("vocab"); }, kInvalid, "model.vocab"},
         {"vocab type", set("vocab", Json::array()), kInvalid, "model.vocab"},
         {"no merges", [](Json& j) { j["model"].erase("merges"); }, kInvalid, "model.merges"},
         {"merges type", set("merges", "a b"), kInvalid, "model.merges"}});
}

TEST(TokenizerLoad, ids_of_the_vocabulary) {
  const auto set = [](Json value) {
    return [value](Json& j) { j["model"]["vocab"]["new"] = value; };
  };
  check(byte_level_json({{"a", "b"}}),
        {{"negative", set(-1), kInvalid, "model.vocab"},
         {"huge", set(int64_t{1} << 21), kInvalid, "model.vocab"},
         {"beyond 63 bits", set(UINT64_MAX), kInvalid, "model.vocab"},
         {"lowest", set(INT64_MIN), kInvalid, "model.vocab"},
         {"fraction", set(1.5), kInvalid, "model.vocab"},
         {"text", set("7"), kInvalid, "model.vocab"},
         {"null", set(nullptr), kInvalid, "model.vocab"},
         {"taken", set(3), kInvalid, "model.vocab"},
         {"not UTF-8", [](Json& j) { j["model"]["vocab"]["\xFF"] = 999; }, kInvalid, "model.vocab"},
         {"long text", [](Json& j) { j["model"]["vocab"][std::string(65'537, 'x')] = 999; },
          kInvalid, "model.vocab"},
         {"long text, taken", [](Json& j) { j["model"]["vocab"][std::string(100'000, 'x')] = 3; },
          kInvalid, "model.vocab"}});
  Json json = byte_level_json({});
  json["model"]["vocab"]["last"] = (1 << 21) - 1;
  EXPECT_EQ(load_tokenizer(json).id_count(), 1 << 21);
}

TEST(TokenizerLoad, merges) {
  const auto add = [](Json value) {
    return [value](Json& j) { j["model"]["merges"].push_back(value); };
  };
  check(byte_level_json({{"a", "b"}}),
        {{"number", add(7), kInvalid, "model.merges[1]"},
         {"one part", add("ab"), kInvalid, "model.merges[1]"},
         {"three parts", add("a b c"), kInvalid, "model.merges[1]"},
         {"empty half", add(" a"), kInvalid, "model.merges[1]"},
         {"empty pair", add({"", ""}), kInvalid, "model.merges[1]"},
         {"short array", add(Json::array({"a"})), kInvalid, "model.merges[1]"},
         {"numbers", add({1, 2}), kInvalid, "model.merges[1]"},
         {"unknown left", add({"abc", "a"}), kInvalid, "model.merges[1]"},
         {"unknown right", add({"a", "abc"}), kInvalid, "model.merges[1]"},
         {"unknown result", add({"b", "a"}), kInvalid, "model.merges[1]"},
         {"repeated", add({"a", "b"}), kInvalid, "model.merges[1]"},
         {"not UTF-8", add({"\xFF", "a"}), kInvalid, "model.merges[1]"}});
}

TEST(TokenizerLoad, fallbacks) {
  check(sentence_piece_json({"\u2581", "a"}, {}),
        {{"unknown token",
          [](Json& j) {
            j["model"]["unk_token"] = "<none>";
            j["model"]["byte_fallback"] = false;
          },
          kInvalid, "model.unk_token"},
         {"byte token with a sign", [](Json& j) { j["model"]["vocab"]["<0x-1>"] = 999; }, kInvalid,
          "model.vocab"},
         {"byte token with a letter", [](Json& j) { j["model"]["vocab"]["<0xG0>"] = 999; },
          kInvalid, "model.vocab"},
         {"byte_fallback", [](Json& j) { j["model"]["byte_fallback"] = 1; }, kInvalid,
          "model.byte_fallback"}});
  // Where every byte has a token, the unknown token is never needed.
  Json json = sentence_piece_json({"\u2581", "a"}, {});
  json["model"]["unk_token"] = "<none>";
  EXPECT_TRUE(Tokenizer::load(json, {}).ok());
}

// A megabyte for each of a hundred thousand tokens would be a hundred gigabytes.
TEST(TokenizerLoad, normalised_added_tokens_are_bounded) {
  Json json = byte_level_json({});
  json["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", std::string(1000, 'y')}};
  for (int32_t i = 0; i < 100; ++i) {
    Json token = added_token(300 + i, std::string(100, 'x') + std::to_string(i), false);
    token["normalized"] = true;
    json["added_tokens"].push_back(token);
  }
  const auto loaded = Tokenizer::load(json, {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, kInvalid);
}

TEST(TokenizerLoad, added_tokens) {
  const auto add = [](Json value) {
    return [value](Json& j) { j["added_tokens"].push_back(value); };
  };
  const auto changed = [](const char* key, Json value) {
    return [key, value](Json& j) {
      Json token = added_token(256, "<s>");
      token[key] = value;
      j["added_tokens"].push_back(token);
    };
  };
  check(byte_level_json({}),
        {{"type", [](Json& j) { j["added_tokens"] = "x"; }, kInvalid, "added_tokens"},
         {"entry", add(7), kInvalid, "added_tokens[0]"},
         {"empty entry", add(Json::object()), kInvalid, "added_tokens[0].id"},
         {"negative id", changed("id", -1), kInvalid, "added_tokens[0].id"},
         {"huge id", changed("id", int64_t{1} << 40), kInvalid, "added_tokens[0].id"},
         {"fraction", changed("id", 0.5), kInvalid, "added_tokens[0].id"},
         {"empty content", changed("content", ""), kInvalid, "added_tokens[0].content"},
         {"long content", changed("content", std::string(513, 'x')), kInvalid,
          "added_tokens[0].content"},
         {"content type", changed("content", 1), kInvalid, "added_tokens[0].content"},
         {"not UTF-8", changed("content", "\xC3"), kInvalid, "added_tokens[0].content"},
         {"flag type", changed("lstrip", 1), kInvalid, "added_tokens[0].lstrip"},
         {"no flag", changed("special", nullptr), kInvalid, "added_tokens[0].special"},
         {"unknown flag", changed("bold", true), kUnsupported, "added_tokens[0].bold"},
         {"id of the vocabulary", add(added_token(65, "<s>")), kInvalid, "added_tokens[0]"},
         {"text of the vocabulary", add(added_token(300, "A")), kInvalid, "added_tokens[0]"},
         {"repeated",
          [](Json& j) {
            j["added_tokens"] = {added_token(256, "xy"), added_token(256, "xy")};
          },
          kInvalid, "added_tokens[1]"},
         {"two ids",
          [](Json& j) {
            j["added_tokens"] = {added_token(256, "xy"), added_token(257, "xy")};
          },
          kInvalid, "added_tokens[1]"},
         {"normalises to nothing",
          [](Json& j) {
            Json token = added_token(256, " ");
            token["normalized"] = true;
            j["added_tokens"].push_back(token);
            j["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
          },
          kInvalid, "added_tokens"}});
}

TEST(TokenizerLoad, added_tokens_of_the_config) {
  const Json json = byte_level_json({});
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[]", "tokenizer_config"},
      {R"({"added_tokens_decoder":[]})", "tokenizer_config.added_tokens_decoder"},
      {R"({"added_tokens_decoder":{"x":{}}})", "tokenizer_config.added_tokens_decoder"},
      {R"({"added_tokens_decoder":{"-1":{}}})", "tokenizer_config.added_tokens_decoder"},
      {R"({"added_tokens_decoder":{"99999999999":{}}})", "tokenizer_config.added_tokens_decoder"},
      {R"({"added_tokens_decoder":{"300":7}})", "tokenizer_config.added_tokens_decoder.300"},
      {R"({"added_tokens_decoder":{"300":{}}})",
       "tokenizer_config.added_tokens_decoder.300.content"},
      {R"({"added_tokens_decoder":{"65":{"content":"<s>"}}})",
       "tokenizer_config.added_tokens_decoder.65"}};
  for (const auto& [text, field] : cases) {
    const auto loaded = Tokenizer::load(json, Json::parse(text));
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_EQ(loaded.error().field, field) << text;
  }
}

TEST(TokenizerLoad, the_pre_tokenizer) {
  const auto set = [](const char* text) {
    return [text](Json& j) { j["pre_tokenizer"] = Json::parse(text); };
  };
  const std::string path = "pre_tokenizer";
  check(byte_level_json({}),
        {{"type", set("3"), kInvalid, path},
         {"no type", set("{}"), kInvalid, path + ".type"},
         {"unknown", set(R"({"type":"BertPreTokenizer"})"), kUnsupported, path + ".type"},
         {"members", set(R"({"type":"Sequence","pretokenizers":7})"), kInvalid,
          path + ".pretokenizers"},
         {"member", set(R"({"type":"Sequence","pretokenizers":[[]]})"), kInvalid,
          path + ".pretokenizers[0]"},
         {"behaviour",
          set(R"({"type":"Split","pattern":{"String":"a"},"behavior":"Kept","invert":false})"),
          kUnsupported, path + ".behavior"},
         {"no behaviour", set(R"({"type":"Split","pattern":{"String":"a"},"invert":false})"),
          kInvalid, path + ".behavior"},
         {"empty pattern",
          set(R"({"type":"Split","pattern":{"String":""},"behavior":"Removed","invert":false})"),
          kInvalid, path + ".pattern.String"},
         {"pattern type",
          set(R"({"type":"Split","pattern":"a","behavior":"Removed","invert":false})"), kInvalid,
          path + ".pattern"},
         {"regex",
          set(R"({"type":"Split","pattern":{"Regex":"(a"},"behavior":"Removed","invert":false})"),
          kUnsupported, path + ".pattern.Regex"},
         {"scheme", set(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"last"})"),
          kUnsupported, path + ".prepend_scheme"},
         {"replacement", set(R"({"type":"Metaspace","replacement":"__"})"), kInvalid,
          path + ".replacement"},
         {"digits", set(R"({"type":"Digits"})"), kInvalid, path + ".individual_digits"},
         {"prefix", set(R"({"type":"ByteLevel","add_prefix_space":null})"), kInvalid,
          path + ".add_prefix_space"},
         {"unknown field", set(R"({"type":"ByteLevel","add_prefix_space":true,"x":1})"),
          kUnsupported, path + ".x"}});
}

TEST(TokenizerLoad, the_post_processor) {
  const auto set = [](const char* text) {
    return [text](Json& j) { j["post_processor"] = Json::parse(text); };
  };
  const std::string path = "post_processor";
  const std::string special = path + ".special_tokens";
  check(
      byte_level_json({}),
      {{"type", set("[]"), kInvalid, path},
       {"unknown", set(R"({"type":"RobertaProcessing"})"), kUnsupported, path + ".type"},
       {"no single", set(R"({"type":"TemplateProcessing"})"), kInvalid, path + ".single"},
       {"no sequence", set(R"({"type":"TemplateProcessing","single":[]})"), kUnsupported,
        path + ".single"},
       {"two sequences", set(R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},
                  {"Sequence":{"id":"A"}}]})"),
        kUnsupported, path + ".single[1].Sequence"},
       {"sequence B", set(R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}]})"),
        kUnsupported, path + ".single[0].Sequence.id"},
       {"piece", set(R"({"type":"TemplateProcessing","single":[{"Other":{}}]})"), kUnsupported,
        path + ".single[0].Other"},
       {"no tokens", set(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}}]})"),
        kInvalid, special},
       {"token not listed",
        set(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}}],
                  "special_tokens":{}})"),
        kInvalid, special + ".s"},
       {"unknown id", set(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}}],
                  "special_tokens":{"s":{"id":"s","ids":[4000000000]}}})"),
        kInvalid, special + ".s.ids"}});
}

Json nested(const char* key, int levels) {
  Json json = {{"type", "Sequence"}, {key, Json::array()}};
  for (int i = 0; i < levels; ++i) json = {{"type", "Sequence"}, {key, Json::array({json})}};
  return json;
}

TEST(TokenizerLoad, sequences_are_bounded) {
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const auto many = [](const char* key, const Json& member) {
    return Json{{"type", "Sequence"}, {key, std::vector<Json>(33, member)}};
  };
  const auto code_of = [](const char* member, const Json& value) {
    Json json = byte_level_json({});
    json[member] = value;
    const auto loaded = Tokenizer::load(json, {});
    return loaded.ok() ? ErrorCode::kInternal : loaded.error().code;
  };
  EXPECT_EQ(code_of("pre_tokenizer", nested("pretokenizers", 1000)), kInvalid);
  EXPECT_EQ(code_of("normalizer", nested("normalizers", 1000)), kInvalid);
  EXPECT_EQ(code_of("decoder", nested("decoders", 1000)), kInvalid);
  EXPECT_EQ(code_of("post_processor", nested("processors", 1000)), kInvalid);
  EXPECT_EQ(code_of("pre_tokenizer", many("pretokenizers", byte_level)), kInvalid);
  EXPECT_EQ(code_of("normalizer", many("normalizers", {{"type", "NFC"}})), kInvalid);
  EXPECT_EQ(code_of("decoder", many("decoders", {{"type", "Fuse"}})), kInvalid);
}

// Each member of a real file is replaced by each kind of value: the file either gives an error or
// loads.
TEST(TokenizerLoad, no_value_anywhere_does_harm) {
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    1e300,
                                    UINT64_MAX,
                                    "",
                                    "x",
                                    Json::array(),
                                    Json::object(),
                                    Json::array({Json::array()}),
                                    Json{{"type", "Sequence"}},
                                    Json{{"x", 1}}};
  const Json base = sentence_piece_json({"\u2581", "a", "b"}, {{"a", "b"}});
  const Json flat = base.flatten();
  size_t refused = 0;
  for (const auto& [pointer, unused] : flat.items()) {
    if (pointer.find("<0x") != std::string::npos) continue;
    for (Json::json_pointer at(pointer); !at.empty(); at = at.parent_pointer()) {
      for (const Json& value : values) {
        Json json = base;
        json[at] = value;
        const auto loaded = Tokenizer::load(json, {});
        if (loaded.ok()) {
          (void)loaded->encode("ab <s>\n\u00E9", true, true);
          (void)loaded->decode(Ids{0, 1, 2, 3, 259, 260}, true);
        } else {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 500u);
}

}  // namespace
}  // namespace cascade::testing
