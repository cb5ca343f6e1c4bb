// Which options are said to use K and V of an earlier start.
#include "daemon/stored_types.h"

#include <gtest/gtest.h>

#include "tests/shared_dir.h"

namespace cascade {
namespace {

using testing::fixtures_dir;

std::unique_ptr<Model> load_types(const std::string& path, std::optional<WeightType> weights,
                                  KvType kv) {
  ModelOptions options = {.kv_type = kv, .weights_as_in_files = !weights};
  if (weights) options.weight_type = *weights;
  ThreadPool pool(1);
  auto model = load_model(path, options, pool);
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return *std::move(model);
}

// Returns the --weights that are named when K and V of a start with `before` meet one with `now`.
std::string said(const std::string& path, std::optional<WeightType> before,
                 std::optional<WeightType> now) {
  const auto stored = load_types(path, before, KvType::kBf16);
  const auto model = load_types(path, now, KvType::kInt8);
  const auto types = types_with_key(*model, path, stored->root_key(""));
  if (!types) return "nothing";
  EXPECT_EQ(types->kv, KvType::kBf16);
  EXPECT_EQ(types->weight_types, weight_types(*stored));
  return types->weights;
}

TEST(StoredTypes, name_the_option_that_gives_just_these_types) {
  const std::string file = fixtures_dir() / "gguf-types/tiny-Q4_K_M.gguf";
  EXPECT_EQ(said(file, std::nullopt, WeightType::kQ4K), "auto");
  EXPECT_EQ(said(file, std::nullopt, WeightType::kQ6K), "auto");
  EXPECT_EQ(said(file, WeightType::kQ4K, std::nullopt), "q4k");
  const std::string plain = fixtures_dir() / "llama-mha";
  EXPECT_EQ(said(plain, WeightType::kQ4K, std::nullopt), "q4k");
  EXPECT_EQ(said(plain, std::nullopt, WeightType::kInt8), "bf16") << "auto would do as well";
}

TEST(StoredTypes, are_not_guessed_if_something_else_has_changed) {
  const std::string file = fixtures_dir() / "llama-mha";
  const auto model = load_types(file, std::nullopt, KvType::kInt8);
  const auto extended = load_model_config(
      file, {.rope_scaling = ContextExtension{ContextExtension::Type::kLinear, 2, 0}});
  ASSERT_TRUE(extended.ok());
  const Digest before = model->root_key("");
  EXPECT_TRUE(types_with_key(*model, file, before).has_value());
  model->config = *extended;
  EXPECT_FALSE(types_with_key(*model, file, before).has_value());
  EXPECT_FALSE(types_with_key(*model, file + ".missing", before).has_value());
}

}  // namespace
}  // namespace cascade
