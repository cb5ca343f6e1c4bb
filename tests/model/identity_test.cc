// The guarantee on which reuse is based: a token's K, V, hidden state and logits are the same bits
// however its chain is sliced, whoever shares its batch or its pages, on any number of threads and
// on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulated.h"
#include "tests/long_tests.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

struct Types {
  WeightType weights;
  KvType kv;
  bool as_in_files = false;
};

constexpr Types kAllTypes[] = {
    {WeightType::kF32, KvType::kF32},   {WeightType::kF32, KvType::kBf16},
    {WeightType::kBf16, KvType::kF32},  {WeightType::kBf16, KvType::kBf16},
    {WeightType::kBf16, KvType::kFp16}, {WeightType::kInt8, KvType::kInt8},
    {WeightType::kInt4, KvType::kInt8}, {WeightType::kInt8, KvType::kFp8},
    {WeightType::kQ4K, KvType::kInt8},  {WeightType::kQ5K, KvType::kFp16},
    {WeightType::kQ6K, KvType::kInt8},  {WeightType::kQ4K, KvType::kBf16},
    {WeightType::kMxfp4, KvType::kInt8}};

// The numbers of tokens of a chain, chosen so that the whole file takes seconds, or minutes if
// emulated.
struct Sizes {
  size_t chain;   // computed in slices
  size_t decode;  // computed one by one
  size_t scalar;  // computed by the scalar kernels
};

Sizes sizes_for(const std::string& name) {
  if (name == "demo") {
    return kEmulated ? Sizes{40, 10, 5} : long_or(Sizes{200, 40, 10}, Sizes{100, 20, 5});
  }
  return kEmulated ? Sizes{140, 70, 35} : long_or(Sizes{700, 700, 150}, Sizes{200, 100, 40});
}

// The first `tokens` tokens of a trace, without a state: the trace has only that of its end.
Trace first_tokens(const Trace& trace, size_t tokens, size_t of) {
  const auto share = [&](const auto& values) {
    return decltype(trace.kv.size())(values.size() / of * tokens);
  };
  return {{trace.hidden.begin(), trace.hidden.begin() + ptrdiff_t(share(trace.hidden))},
          {trace.kv.begin(), trace.kv.begin() + ptrdiff_t(share(trace.kv))}};
}

Ids first_ids(const Ids& ids, size_t count) {
  return Ids(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(std::min(count, ids.size())));
}

// One model with one type of weights, and transformers over it.
class Subject {
 public:
  Subject(const std::string& name, const Types& types, Isa isa)
      : model_(load(name, {types.weights, types.kv, isa, "", types.as_in_files}, one_)),
        what_(name + ", " + std::string(to_string(types.weights)) + " weights, " +
              std::string(to_string(types.kv)) + " KV, ") {}

  Transformer transformer(Isa isa, ThreadPool& pool) const {
    return Transformer(model_->config, model_->weights, **kernels_for(isa), model_->kv_layout,
                       pool);
  }
  const Model& model() const { return *model_; }
  const KvLayout& layout() const { return model_->kv_layout; }
  const std::string& what() const { return what_; }
  ThreadPool& one_thread() { return one_; }
  ThreadPool& two_threads() { return two_; }

 private:
  ThreadPool one_{1};
  ThreadPool two_{2};
  std::unique_ptr<Model> model_;
  std::string what_;
};

// Logits of the last rows of a trace, `rows` at a time.
std::vector<float> last_logits(Transformer& transformer, const Trace& trace, int rows, int total) {
  const size_t width = static_cast<size_t>(transformer.config().hidden_size);
  const size_t vocab = static_cast<size_t>(transformer.config().vocab_size);
  std::vector<float> logits(static_cast<size_t>(total) * vocab);
  const float* hidden = trace.hidden.data() + trace.hidden.size() - size_t(total) * width;
  for (int row = 0; row < total; row += rows) {
    transformer.logits(hidden + size_t(row) * width, std::min(rows, total - row),
                       logits.data() + size_t(row) * vocab);
  }
  return logits;
}

void check_slicing(Subject& subject, Isa isa, const Ids& ids, size_t decode,
                   const Trace& expected) {
  Transformer one = subject.transformer(isa, subject.one_thread());
  Transformer two = subject.transformer(isa, subject.two_threads());
  for (const size_t slice : {size_t{7}, size_t{64}, size_t{512}, ids.size()}) {
    Transformer& transformer = slice == 64 ? one : two;
    ASSERT_EQ(run_chain(transformer, subject.layout(), ids, slice), expected)
        << subject.what() << to_string(isa) << ", slices of " << slice;
  }
  const Ids beginning = first_ids(ids, decode);
  Trace at_once = run_chain(two, subject.layout(), beginning, beginning.size());
  ASSERT_EQ(run_chain(two, subject.layout(), beginning, 1), at_once)
      << subject.what() << to_string(isa) << ", one by one";
  at_once.state.clear();
  ASSERT_EQ(at_once, first_tokens(expected, beginning.size(), ids.size()))
      << subject.what() << to_string(isa) << ", the beginning";
  const std::vector<float> logits = last_logits(one, expected, 5, 5);
  ASSERT_EQ(last_logits(one, expected, 1, 5), logits) << subject.what() << to_string(isa);
  ASSERT_EQ(last_logits(two, expected, 2, 5), logits) << subject.what() << to_string(isa);
}

// Computes several chains at once: each step takes any of them, in slices of any size, prompts
// beside decode steps.
void check_batches(Subject& subject, Isa isa, size_t tokens, Random& random) {
  Transformer transformer = subject.transformer(isa, subject.two_threads());
  const size_t width = static_cast<size_t>(subject.model().config.hidden_size);
  struct Chain {
    Ids ids;
    Trace alone;
    std::unique_ptr<ChainPages> pages;
    std::unique_ptr<ChainState> state;
    std::vector<float> hidden;
    size_t done = 0;
  };
  std::vector<Chain> chains(3);
  for (Chain& chain : chains) {
    chain.ids = random_ids(random, 1 + random.below(tokens), subject.model().config.vocab_size);
    chain.alone = run_chain(transformer, subject.layout(), chain.ids, chain.ids.size());
    chain.pages = std::make_unique<ChainPages>(subject.layout(), chain.ids.size());
    chain.state = std::make_unique<ChainState>(subject.model().config);
    chain.hidden.resize(chain.ids.size() * width);
  }
  const auto unfinished = [](const Chain& chain) { return chain.done < chain.ids.size(); };
  while (std::ranges::any_of(chains, unfinished)) {
    std::vector<Slice> slices;
    std::vector<Chain*> taking;
    for (Chain& chain : chains) {
      if (!unfinished(chain) || random.below(4) == 0) continue;
      const size_t left = chain.ids.size() - chain.done;
      const size_t size = random.below(3) == 0 ? 1 : 1 + random.below(left);
      slices.push_back(chain.state->with({std::span(chain.ids).subspan(chain.done, size),
                                          static_cast<int64_t>(chain.done), chain.pages->pages(),
                                          static_cast<int>(size)}));
      taking.push_back(&chain);
    }
    size_t rows = 0;
    for (const Slice& slice : slices) rows += slice.token_ids.size();
    std::vector<float> hidden(rows * width);
    CHECK(transformer.forward(slices, hidden.data()).ok());
    auto from = hidden.begin();
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto floats = static_cast<ptrdiff_t>(slices[i].token_ids.size() * width);
      std::copy(from, from + floats,
                taking[i]->hidden.begin() + static_cast<ptrdiff_t>(taking[i]->done * width));
      taking[i]->done += slices[i].token_ids.size();
      from += floats;
    }
  }
  for (Chain& chain : chains) {
    const Trace together = {chain.hidden, chain.pages->written(chain.ids.size()),
                            chain.state->floats()};
    ASSERT_EQ(together, chain.alone) << subject.what() << to_string(isa) << ", in a batch";
  }
}

// Checks a chain that begins like another chain. It uses the whole pages of the other chain, a copy
// of the other's next page, and the state that the other chain had there.
void check_reuse(Subject& subject, Isa isa, const Ids& ids, const Trace& expected, Random& random) {
  Transformer transformer = subject.transformer(isa, subject.one_thread());
  const size_t width = static_cast<size_t>(subject.model().config.hidden_size);
  const size_t shared = 1 + random.below(ids.size() - 1);
  // The other chain continues differently after the shared part, far enough to fill its page.
  Ids other = first_ids(ids, shared);
  for (const int32_t id : random_ids(random, 70, subject.model().config.vocab_size)) {
    other.push_back(id);
  }
  const ChainPages first(subject.layout(), other.size());
  ChainState first_state(subject.model().config);
  const Slice common = first_state.with({std::span(other).first(shared), 0, first.pages(), 0});
  CHECK(transformer.forward(std::span(&common, 1), nullptr).ok());
  const std::vector<float> checkpoint = first_state.floats();
  const Slice own = first_state.with(
      {std::span(other).subspan(shared), static_cast<int64_t>(shared), first.pages(), 0});
  CHECK(transformer.forward(std::span(&own, 1), nullptr).ok());

  ChainPages second(subject.layout(), ids.size());
  for (size_t page = 0; page < shared / kPageTokens; ++page) second.share(page, first);
  if (shared % kPageTokens != 0) second.copy(shared / kPageTokens, first);
  Trace trace = first_tokens(expected, shared, ids.size());
  trace.hidden.resize(ids.size() * width);
  Slice rest = {std::span(ids).subspan(shared), static_cast<int64_t>(shared), second.pages(),
                static_cast<int>(ids.size() - shared)};
  trace.state.resize(checkpoint.size());
  rest.state_from = checkpoint.data();
  rest.state_to = trace.state.data();
  CHECK(transformer.forward(std::span(&rest, 1), trace.hidden.data() + shared * width).ok());
  trace.kv = second.written(ids.size());
  ASSERT_EQ(trace, expected) << subject.what() << to_string(isa) << ", reusing " << shared;
}

// Compares the instruction sets with each other; returns the trace on which they agree.
Trace check_isas(Subject& subject, const Ids& ids, size_t scalar_tokens) {
  std::optional<Trace> first;
  for (const Isa isa : isas({Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kNeon})) {
    Transformer transformer = subject.transformer(isa, subject.two_threads());
    Trace trace = run_chain(transformer, subject.layout(), ids, ids.size());
    if (!first) first = trace;
    EXPECT_EQ(trace, *first) << subject.what() << to_string(isa);
  }
  const Ids beginning = first ? first_ids(ids, scalar_tokens) : ids;
  Transformer scalar = subject.transformer(Isa::kScalar, subject.two_threads());
  Trace trace = run_chain(scalar, subject.layout(), beginning, beginning.size());
  if (!first) return trace;
  Transformer best = subject.transformer(best_isa(), subject.two_threads());
  EXPECT_EQ(trace, run_chain(best, subject.layout(), beginning, beginning.size()))
      << subject.what() << "scalar";
  EXPECT_EQ(last_logits(scalar, trace, 2, 2), last_logits(best, trace, 2, 2)) << subject.what();
  return *std::move(first);
}

void check_every_way(const std::string& name, const Types& types, Random& random) {
  Subject subject(name, types, best_isa());
  const Sizes sizes = sizes_for(name);
  const Ids ids = random_ids(random, sizes.chain, subject.model().config.vocab_size);
  const Trace expected = check_isas(subject, ids, sizes.scalar);
  if (::testing::Test::HasFailure()) return;
  check_slicing(subject, best_isa(), ids, sizes.decode, expected);
  check_batches(subject, best_isa(), sizes.chain / 2, random);
  check_reuse(subject, best_isa(), ids, expected, random);
}

// Tests each model with all types in long tests; otherwise with every second type, so that two
// neighbouring models cover all types.
void check_models(const std::vector<std::string>& names, Random& random) {
  for (size_t model = 0; model < names.size(); ++model) {
    for (size_t types = 0; types < std::size(kAllTypes); ++types) {
      if (!long_tests() && (model + types) % 2 != 0) continue;
      check_every_way(names[model], kAllTypes[types], random);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Identity, tiny_models_compute_the_same_bits_in_every_way) {
  Random random(test_seed());
  check_models(fixture_models(), random);
}

TEST(Identity, models_of_every_family_compute_the_same_bits_in_every_way) {
  Random random(test_seed());
  check_models(family_models(), random);
}

TEST(Identity, mixtures_of_experts_compute_the_same_bits_in_every_way) {
  Random random(test_seed());
  check_models(long_or(mixture_models(),
                       std::vector<std::string>{"glm4-moe", "gpt-oss-mxfp4", "gemma4-moe"}),
               random);
}

TEST(Identity, hybrids_compute_the_same_bits_in_every_way) {
  Random random(test_seed());
  check_models(hybrid_models(), random);
}

TEST(Identity, the_demo_model_computes_the_same_bits_in_every_way) {
  Random random(test_seed());
  for (const Types& types : kAllTypes) {
    // Without long tests, the small models cover the other types.
    const bool is_chosen = types.kv == KvType::kFp16 || types.weights == WeightType::kInt4;
    if (!long_tests() && !is_chosen) continue;
    check_every_way("demo", types, random);
    if (HasFailure()) return;
  }
}

// The rows have 64 and 160 weights: half a group, and a group and a block.
TEST(Identity, blocks_of_files_that_are_taken_over_are_no_exception) {
  Random random(test_seed());
  TemporaryFolder folder;
  for (const char* name : {"llama-mha", "qwen3-gqa"}) {
    for (const GgmlType type : {kGgmlQ8_0, kGgmlQ4_0}) {
      const auto file = folder.path() / (std::string(name) + std::to_string(type) + ".gguf");
      write_gguf(model_dir(name), read_tensors(model_dir(name)), type, file);
      check_every_way(file.string(), {WeightType::kInt8, KvType::kInt8}, random);
      if (type == kGgmlQ4_0) {
        check_every_way(file.string(), {WeightType::kInt4, KvType::kBf16}, random);
      }
      if (HasFailure()) return;
    }
  }
}

// Q and K are Q4_K, V is Q6_K, down is Q5_K, and the embedding is Q8_0: rows are multiplied by
// matrices of different types together.
TEST(Identity, files_that_mix_k_quants_are_no_exception) {
  Random random(test_seed());
  TemporaryFolder folder;
  const auto source = fixtures_dir() / "gguf-types" / "hf";
  const auto file = folder.path() / "model.gguf";
  const auto type_of = [](const std::string& name) {
    if (name.find("embed") != std::string::npos) return kGgmlQ8_0;
    if (name.find("v_proj") != std::string::npos) return kGgmlQ6K;
    return name.find("down_proj") != std::string::npos ? kGgmlQ5K : kGgmlQ4K;
  };
  write_gguf(source, read_tensors(source), type_of, file);
  check_every_way(file.string(), {WeightType::kQ4K, KvType::kInt8, true}, random);
}

TEST(Identity, chains_longer_than_a_split_of_keys_are_no_exception) {
  Random random(test_seed());
  for (const char* name : {"qwen3-gqa", "mistral-swa", "llama-mha"}) {
    // Only long tests use this model here.
    if (!long_tests() && std::string_view(name) == "llama-mha") continue;
    Subject subject(name, {WeightType::kBf16, KvType::kBf16}, best_isa());
    const size_t tokens = kEmulated ? 1060 : long_or(2100, 1100);  // a split of keys has 1024
    const Ids ids = random_ids(random, tokens, subject.model().config.vocab_size);
    const Trace expected = check_isas(subject, ids, 1060);
    check_slicing(subject, best_isa(), ids, ids.size(), expected);
    check_reuse(subject, best_isa(), ids, expected, random);
    if (HasFailure()) return;
  }
}

TEST(Identity, each_other_instruction_set_is_as_indifferent_to_slices_and_batches) {
  Random random(test_seed());
  for (const Isa isa : isas({Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kNeon, Isa::kOpenblas})) {
    for (const char* name : {"qwen3-gqa", "mistral-swa", "qwen2-bias"}) {
      Subject subject(name, {WeightType::kBf16, KvType::kBf16}, isa);
      const size_t tokens = isa == Isa::kScalar || kEmulated ? 130 : long_or(600, 200);
      const Ids ids = random_ids(random, tokens, subject.model().config.vocab_size);
      Transformer transformer = subject.transformer(isa, subject.one_thread());
      const Trace expected = run_chain(transformer, subject.layout(), ids, ids.size());
      check_slicing(subject, isa, ids, ids.size(), expected);
      check_batches(subject, isa, tokens, random);
      check_reuse(subject, isa, ids, expected, random);
      if (HasFailure()) return;
    }
  }
}

TEST(Identity, another_token_or_type_does_change_the_bits) {
  // This shows that the comparisons above can fail.
  Random random(test_seed());
  Subject subject("demo", {WeightType::kBf16, KvType::kBf16}, best_isa());
  Subject exact("demo", {WeightType::kBf16, KvType::kF32}, best_isa());
  Ids ids = random_ids(random, 20, 8192);
  Transformer transformer = subject.transformer(best_isa(), subject.one_thread());
  const Trace trace = run_chain(transformer, subject.layout(), ids, 20);
  Transformer with_f32 = exact.transformer(best_isa(), exact.one_thread());
  EXPECT_NE(run_chain(with_f32, exact.layout(), ids, 20).hidden, trace.hidden);
  ids[3] = (ids[3] + 1) % 8192;
  const Trace changed = run_chain(transformer, subject.layout(), ids, 20);
  EXPECT_FALSE(changed == trace);
  EXPECT_EQ(first_tokens(changed, 3, 20), first_tokens(trace, 3, 20));
}

}  // namespace
}  // namespace cascade::testing
