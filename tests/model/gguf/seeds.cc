// The seeds: each is the small model, or a part of it, with one thing wrong.
#include "tests/model/gguf/seeds.h"

#include <functional>
#include <utility>

#include "tests/model/gguf/small_model.h"

namespace cascade::testing {
namespace {

constexpr uint64_t kHuge = uint64_t{1} << 62;

using Add = std::function<void(GgufWriter&)>;

// A file that has only what `add` writes.
std::string only(const Add& add) {
  GgufWriter out;
  add(out);
  return out.file();
}

// A file whose table has one tensor; the data of its 8 numbers exists.
std::string one_tensor(const std::vector<uint64_t>& dimensions, uint32_t type, uint64_t offset) {
  return only([&](GgufWriter& out) { out.raw_tensor("t", dimensions, type, offset); }) +
         std::string(32, 'x');
}

void add_counts(std::vector<GgufSeed>& seeds) {
  seeds.push_back({"too-many-tensors", only([](GgufWriter& w) { w.claim(1u << 17, 0); }), "header",
                   "131072 tensors, limit 65536"});
  seeds.push_back({"tensors-beyond-file", only([](GgufWriter& w) { w.claim(60'000, 0); }), "header",
                   "more than the file can hold"});
  seeds.push_back({"huge-count-of-tensors", only([](GgufWriter& w) { w.claim(kHuge, 0); }),
                   "header", "limit 65536"});
  seeds.push_back({"huge-count-of-keys", only([](GgufWriter& w) { w.claim(0, UINT64_MAX); }),
                   "header", "limit 65536"});
  seeds.push_back({"keys-beyond-file", only([](GgufWriter& w) { w.claim(0, 65'536); }), "header",
                   "more than the file can hold"});
  const auto string_of = [](uint64_t size) {
    std::string bytes;
    append_number(bytes, size);
    return bytes + "short";
  };
  const auto text_type = static_cast<uint32_t>(GgufValueType::kString);
  seeds.push_back({"string-length-wraps",
                   only([&](GgufWriter& w) { w.raw_key("k", text_type, string_of(UINT64_MAX)); }),
                   "k", "limit 1048576"});
  seeds.push_back({"string-beyond-file",
                   only([&](GgufWriter& w) { w.raw_key("k", text_type, string_of(1u << 20)); }),
                   "k", "the file ends within it"});
  const auto u64_type = static_cast<uint32_t>(GgufValueType::kU64);
  seeds.push_back({"array-size-wraps",
                   only([&](GgufWriter& w) { w.raw_array("k", u64_type, kHuge + 1, "12345678"); }),
                   "k", "limit 4194304"});
  seeds.push_back({"array-beyond-file",
                   only([&](GgufWriter& w) { w.raw_array("k", u64_type, 1u << 22, "12345678"); }),
                   "k", "more than the file can hold"});
  seeds.push_back({"strings-beyond-file",
                   only([&](GgufWriter& w) { w.raw_array("k", text_type, 2, string_of(0)); }), "k",
                   "more than the file can hold"});
  seeds.push_back({"array-of-arrays",
                   only([](GgufWriter& w) { w.raw_array("k", 9, 1, std::string(12, '\0')); }), "k",
                   "array of arrays"});
  seeds.push_back({"unknown-type-of-value", only([](GgufWriter& w) { w.raw_key("k", 13, "1234"); }),
                   "k", "unknown type 13"});
  seeds.push_back({"key-of-two-lines", only([](GgufWriter& w) { w.u32("k\nl", 1); }), "key 0",
                   "control characters"});
  seeds.push_back(
      {"key-twice", only([](GgufWriter& w) { w.u32("k", 1).u32("k", 2); }), "k", "occurs twice"});
  seeds.push_back({"truth-of-2", only([](GgufWriter& w) { w.raw_key("k", 7, "\x02"); }), "k",
                   "must be 0 or 1"});
}

void add_tensors(std::vector<GgufSeed>& seeds) {
  const auto bad = [&](const char* name, const std::vector<uint64_t>& dimensions, uint32_t type,
                       uint64_t offset, const char* says) {
    seeds.push_back({name, one_tensor(dimensions, type, offset), "t", says});
  };
  bad("dimensions-wrap", {uint64_t{1} << 33, uint64_t{1} << 33}, kGgmlF32, 0, "overflows");
  bad("dimensions-negative", {uint64_t{1} << 63}, kGgmlF32, 0, "overflows");
  bad("size-wraps-to-0", {uint64_t{1} << 62}, kGgmlF32, 0, "its size overflows");
  bad("size-wraps-with-offset", {8}, kGgmlF32, UINT64_MAX - 31, "offset and size overflow");
  bad("dimension-0", {8, 0}, kGgmlF32, 0, "a dimension of 0");
  bad("no-dimensions", {}, kGgmlF32, 0, "has 0 dimensions");
  bad("five-dimensions", {1, 1, 1, 1, 8}, kGgmlF32, 0, "has 5 dimensions");
  bad("offset-beyond-file", {8}, kGgmlF32, 1u << 30, "ends at byte");
  bad("data-beyond-file", {16}, kGgmlF32, 0, "ends at byte 64 of the data, which has 32");
  bad("offset-not-aligned", {4}, kGgmlF32, 8, "not a multiple of the alignment");
  bad("row-of-half-a-block", {16, 2}, kGgmlQ8_0, 0, "not a multiple of the 32");
  bad("unknown-tensor-type", {8}, 0xFFFF'FFFF, 0, "number 4294967295");
  bad("type-we-do-not-read", {256}, 19, 0, "has type IQ1_S");
  const auto table = [](const Add& add) { return only(add) + std::string(64, 'x'); };
  seeds.push_back({"tensors-overlap", table([](GgufWriter& w) {
                     w.raw_tensor("t", {16}, kGgmlF32, 0).raw_tensor("u", {8}, kGgmlF32, 32);
                   }),
                   "u", "lies within t"});
  seeds.push_back({"tensor-twice", table([](GgufWriter& w) {
                     w.raw_tensor("t", {8}, kGgmlF32, 0).raw_tensor("t", {8}, kGgmlF32, 32);
                   }),
                   "t", "occurs twice"});
  seeds.push_back({"name-of-65-bytes", table([](GgufWriter& w) {
                     w.raw_tensor(std::string(65, 'n'), {8}, kGgmlF32, 0);
                   }),
                   "tensor 0", "limit 64"});
  seeds.push_back({"name-of-two-lines",
                   table([](GgufWriter& w) { w.raw_tensor("t\nu", {8}, kGgmlF32, 0); }), "tensor 0",
                   "control characters"});
  for (const uint32_t alignment : {0u, 1u, 24u, 8192u, UINT32_MAX}) {
    seeds.push_back(
        {"alignment-" + std::to_string(alignment),
         SmallModel().file([&](GgufWriter& w) { w.u32("general.alignment", alignment); }),
         "general.alignment", "must be"});
  }
}

// The seed's name, what is added to the small model, what it is without, field and message.
GgufSeed changed(const char* name, const char* field, const char* says,
                 std::set<std::string> without, const Add& add) {
  return {name, SmallModel{.without = std::move(without)}.file(add), field, says};
}

void add_sizes(std::vector<GgufSeed>& seeds) {
  const auto sized = [&](const char* name, const char* key, uint32_t value, const char* says) {
    const std::string full = "qwen3." + std::string(key);
    seeds.push_back(
        changed(name, full.c_str(), says, {key}, [&](GgufWriter& w) { w.u32(full, value); }));
  };
  sized("layers-beyond-limit", "block_count", 100'000, "512");
  sized("no-heads", "attention.head_count", 0, "512");
  sized("heads-not-shared", "attention.head_count_kv", 3, "must divide");
  sized("hidden-size-of-0", "embedding_length", 0, "8");
  sized("context-beyond-limit", "context_length", UINT32_MAX, "16777216");
}

void add_tokens(std::vector<GgufSeed>& seeds) {
  const auto tokens = [&](const char* name, const std::vector<std::string>& all, const char* says) {
    seeds.push_back(changed(name, "tokenizer.ggml.tokens[1]", says, {"tokens"},
                            [&](GgufWriter& w) { w.texts("tokenizer.ggml.tokens", all); }));
  };
  std::vector<std::string> names = SmallModel::tokens();
  names[1] = std::string(100'000, 'x');
  tokens("piece-of-100000-bytes", names, "at most 512 bytes");
  names[1] = "\xFF\xFE";
  tokens("piece-of-no-utf8", names, "must be UTF-8");
  names[1] = names[0];
  tokens("piece-twice", names, "is given twice");
  const std::vector<std::string> signs = {"<unk>", "<s>", "<0x-1>", "<0x+1>"};
  const auto with_signs = [&](GgufWriter& w) {
    w.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", signs);
    w.numbers<int32_t>("tokenizer.ggml.token_type", GgufValueType::kI32, {2, 3, 6, 6});
    w.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0, 0, 0, 0});
    w.flag("tokenizer.ggml.add_bos_token", false);
  };
  seeds.push_back(changed("byte-token-with-a-sign", "tokenizer.ggml", "names no byte",
                          {"model", "tokens", "types", "eos"}, with_signs));
  const auto few_types = [](GgufWriter& w) {
    w.numbers<int32_t>("tokenizer.ggml.token_type", GgufValueType::kI32, {1});
  };
  seeds.push_back(changed("types-shorter-than-tokens", "tokenizer.ggml.token_type",
                          "has 1 elements", {"types"}, few_types));
  seeds.push_back(changed("merge-of-unknown-halves", "tokenizer.ggml", "not in the vocabulary",
                          {"merges"},
                          [](GgufWriter& w) { w.texts("tokenizer.ggml.merges", {"zz yy"}); }));
  const auto with_charsmap = [](GgufWriter& w) {
    w.text("tokenizer.ggml.model", "llama");
    w.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32,
                     std::vector<float>(SmallModel::kTokens));
    w.numbers<uint8_t>("tokenizer.ggml.precompiled_charsmap", GgufValueType::kU8, {1, 2});
  };
  seeds.push_back(changed("charsmap-of-2-bytes", "tokenizer.ggml.precompiled_charsmap",
                          "not supported", {"model"}, with_charsmap));
}

void add_rest(std::vector<GgufSeed>& seeds) {
  seeds.push_back(changed("end-token-beyond-vocabulary", "tokenizer.ggml.eos_token_id", "259",
                          {"eos"},
                          [](GgufWriter& w) { w.u32("tokenizer.ggml.eos_token_id", 260); }));
  seeds.push_back(changed("template-that-does-not-end", "tokenizer.chat_template", "", {"template"},
                          [](GgufWriter& w) { w.text("tokenizer.chat_template", "{% if x %}"); }));
  const auto small_embedding = [](GgufWriter& w) {
    w.tensor("token_embd.weight", {SmallModel::kHidden, 8}, kGgmlF32,
             std::string(8 * SmallModel::kHidden * 4, '\0'));
  };
  seeds.push_back(changed("vocabulary-larger-than-embedding", "tokenizer.ggml.tokens", "",
                          {"token_embd.weight"}, small_embedding));
}

}  // namespace

std::vector<GgufSeed> gguf_seeds() {
  std::vector<GgufSeed> seeds;
  const std::string good = SmallModel().file();
  seeds.push_back({"model", good, "", ""});
  seeds.push_back(
      {"llama-model", SmallModel{.architecture = "llama", .without = {}}.file(), "", ""});
  GgufWriter old;
  old.version = 2;
  SmallModel().write(old);
  seeds.push_back({"version-2", old.file(), "", ""});
  GgufWriter wide;
  wide.alignment = 64;
  wide.u32("general.alignment", 64);
  SmallModel().write(wide);
  seeds.push_back({"alignment-64", wide.file(), "", ""});
  for (const auto& [name, version, says] :
       {std::tuple("version-1", 1u, "version 1"), std::tuple("version-4", 4u, "version 4"),
        std::tuple("big-endian", 0x03000000u, "big-endian")}) {
    GgufWriter out;
    out.version = version;
    seeds.push_back({name, out.file(), "header", says});
  }
  seeds.push_back({"empty", "", "header", "the file ends"});
  seeds.push_back({"other-magic", "GGMF" + good.substr(4), "header", "does not begin"});
  seeds.push_back({"cut-in-keys", good.substr(0, 1000), "tokenizer.ggml.tokens", "than the file"});
  seeds.push_back(
      {"cut-in-data", good.substr(0, good.size() - 4), "blk.0.ffn_down.weight", "ends at byte"});
  add_counts(seeds);
  add_tensors(seeds);
  add_sizes(seeds);
  add_tokens(seeds);
  add_rest(seeds);
  return seeds;
}

}  // namespace cascade::testing
