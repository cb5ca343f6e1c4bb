// Which models are found in a models directory, and how much memory they are said to take.
#include "daemon/model_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Catalogs : public ::testing::Test {
 protected:
  Catalogs() {
    options.models_dir = folder.path().native();
    options.model_dir = testing::demo_model_dir().native();
    options.kv_bytes_max = int64_t{64} << 20;
  }
  void add_demo(const std::string& name) {
    fs::create_directory_symlink(testing::demo_model_dir(), folder.path() / name);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
  }
  std::vector<std::string> names(const Catalog& found) {
    std::vector<std::string> all;
    for (const CatalogEntry& entry : found.models) all.push_back(entry.name);
    return all;
  }

  testing::TemporaryFolder folder;
  DaemonOptions options;
};

TEST_F(Catalogs, have_folders_and_files_by_name) {
  add_demo("second");
  write("first.gguf", "GGUF");
  write("readme.txt", "");
  fs::create_directory(folder.path() / "empty");
  ModelCatalog catalog(options, "demo");
  const Catalog found = catalog.scan();
  EXPECT_THAT(names(found), ElementsAre("first", "second"));
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_EQ(found.models[0].format, "gguf");
  EXPECT_TRUE(found.models[0].problem.has_value());
  EXPECT_EQ(found.models[1].format, "folder");
  EXPECT_FALSE(found.models[1].problem.has_value());
}

TEST_F(Catalogs, leave_out_what_has_the_default_models_name) {
  add_demo("demo");
  add_demo("other");
  ModelCatalog catalog(options, "demo");
  EXPECT_THAT(names(catalog.scan()), ElementsAre("other"));
}

TEST_F(Catalogs, have_paths_that_hold_in_every_folder) {
  add_demo("other");
  options.models_dir = fs::relative(folder.path()).native() + "/./";
  options.model_dir = fs::relative(testing::demo_model_dir()).native() + "//";
  ModelCatalog catalog(options, "demo");
  EXPECT_EQ(catalog.scan().models.at(0).path, (folder.path() / "other").native());
  EXPECT_EQ(catalog.default_model().path, testing::demo_model_dir().native());
  EXPECT_EQ(catalog.models_dir(), folder.path().native());
}

TEST_F(Catalogs, say_which_names_are_none) {
  add_demo("a\nname");
  add_demo("\xC3\xA4 name");
  add_demo("same");
  write("same.gguf", "GGUF");
  ModelCatalog catalog(options, "demo");
  const Catalog found = catalog.scan();
  EXPECT_THAT(names(found), ElementsAre("same", "\xC3\xA4 name"));
  EXPECT_EQ(found.models[0].format, "folder");
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("a\nname"), HasSubstr("two models same")));
}

TEST_F(Catalogs, warn_of_a_folder_that_is_not_there) {
  options.models_dir += "/none";
  ModelCatalog catalog(options, "demo");
  const Catalog found = catalog.scan();
  EXPECT_TRUE(found.models.empty());
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("/none: ")));
}

TEST_F(Catalogs, look_again_at_files_that_changed) {
  const fs::path model = folder.path() / "second";
  fs::create_directory(model);
  for (const auto& file : fs::directory_iterator(testing::demo_model_dir())) {
    fs::create_symlink(file.path(), model / file.path().filename());
  }
  fs::remove(model / "config.json");
  std::ofstream(model / "config.json") << "{";
  ModelCatalog catalog(options, "demo");
  EXPECT_TRUE(catalog.scan().models.at(0).problem.has_value());
  fs::remove(model / "config.json");
  fs::create_symlink(testing::demo_model_dir() / "config.json", model / "config.json");
  EXPECT_FALSE(catalog.scan().models.at(0).problem.has_value());
}

TEST_F(Catalogs, refuse_a_budget_that_holds_no_page) {
  options.kv_bytes_max = 100'000;  // a page of the demo model has 139,264
  const Result<ModelSize> size = model_size(options.model_dir, options);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(size.error().field, "--kv-memory");
  EXPECT_THAT(size.error().message, HasSubstr("at least 139264 bytes"));
}

TEST_F(Catalogs, refuse_memory_that_holds_too_few_recurrent_states) {
  const std::string lfm2 = testing::fixtures_dir() / "lfm2";
  const auto config = load_model_config(lfm2);
  ASSERT_TRUE(config.ok());
  const int64_t bytes = state_slot_bytes(*config);
  EXPECT_GE(bytes, static_cast<int64_t>(config->recurrent.state_floats() * sizeof(float)));
  options.state_bytes_max = 3 * bytes - 1;
  const Result<ModelSize> size = model_size(lfm2, options);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(size.error().field, "--state-memory");
  EXPECT_THAT(size.error().message, HasSubstr("at least " + std::to_string(3 * bytes) + " bytes"));
  options.state_bytes_max = 3 * bytes;
  const Result<ModelSize> fits = model_size(lfm2, options);
  ASSERT_TRUE(fits.ok()) << fits.error().to_string();
  options.state_bytes_max = 5 * bytes;
  EXPECT_EQ(model_size(lfm2, options)->kv - fits->kv, 2 * bytes);
  EXPECT_EQ(*state_slots(*config, options), 5);
}

TEST_F(Catalogs, need_no_memory_for_states_without_recurrent_layers) {
  options.state_bytes_max = 0;
  const auto config = load_model_config(testing::demo_model_dir());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(*state_slots(*config, options), 0);
  EXPECT_TRUE(model_size(options.model_dir, options).ok());
}

TEST_F(Catalogs, estimate_weights_by_their_type_and_the_whole_kv_budget) {
  const Result<ModelSize> bf16 = model_size(options.model_dir, options);
  ASSERT_TRUE(bf16.ok());
  EXPECT_GT(bf16->kv, options.kv_bytes_max - (int64_t{1} << 20));
  EXPECT_LE(bf16->kv, options.kv_bytes_max);
  EXPECT_EQ(bf16->weight_types, "bf16") << "as its files have them";
  EXPECT_EQ(bf16->total(), bf16->weights + bf16->kv + bf16->other);
  options.weight_type = WeightType::kF32;
  const Result<ModelSize> f32 = model_size(options.model_dir, options);
  ASSERT_TRUE(f32.ok());
  EXPECT_NEAR(static_cast<double>(f32->weights) / static_cast<double>(bf16->weights), 2, 0.1);
  EXPECT_FALSE(model_size(folder.path().native(), options).ok());
}

TEST_F(Catalogs, name_the_tensor_and_the_gguf_file_that_lacks_it) {
  const std::string name = "blk.0.attn_q.weight";
  const fs::path source = testing::fixtures_dir() / "gguf-types/tiny-Q4_K_M.gguf";
  std::string bytes = *read_file(source, 64 << 20);
  bytes.replace(bytes.find(name), name.size(), "blk.9.attn_q.weight");
  write("missing.gguf", bytes);
  const auto size = model_size(folder.path() / "missing.gguf", options);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(size.error().field, name);
  EXPECT_THAT(size.error().message, HasSubstr("missing.gguf"));
}

TEST_F(Catalogs, give_each_model_what_was_chosen_for_it) {
  const ContextExtension four = {ContextExtension::Type::kYarn, 4, 0};
  options.rope_scalings = {{"other", four}};
  options.chat_templates = {{"other", "file"}};
  EXPECT_EQ(model_options_of(options, "other").rope_scaling, four);
  EXPECT_EQ(model_options_of(options, "other").chat_template, "file");
  EXPECT_FALSE(model_options_of(options, "third").rope_scaling.has_value());
  EXPECT_FALSE(model_options_of(options).rope_scaling.has_value());
  for (const char* name : {"", "demo"}) {  // the default model may be named by its path, too
    options.rope_scalings = {{name, four}};
    EXPECT_EQ(model_options_of(options).rope_scaling, four) << name;
  }
}

}  // namespace
}  // namespace cascade
