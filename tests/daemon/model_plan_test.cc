// Which models are unloaded to make room for another, and which files are models.
#include "daemon/model_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade {
namespace {

using ::testing::HasSubstr;

ResidentModel default_model() {
  return {.name = "demo", .bytes = 100, .is_default = true};
}

ResidentModel resident(const std::string& name, int64_t used_us, bool busy = false) {
  return {.name = name, .bytes = 50, .busy = busy, .last_used_us = used_us};
}

TEST(ModelRoom, is_there_without_a_limit) {
  const auto plan = plan_room("big", INT64_MAX / 2, {default_model()}, 0);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->fits);
}

TEST(ModelRoom, is_there_up_to_the_limit) {
  EXPECT_TRUE(plan_room("new", 50, {default_model()}, 150)->fits);
  EXPECT_FALSE(plan_room("new", 51, {default_model()}, 150).ok());
}

TEST(ModelRoom, is_made_by_the_model_not_used_for_longest) {
  const std::vector<ResidentModel> all = {resident("b", 20), default_model(), resident("a", 10)};
  const auto plan = plan_room("new", 60, all, 230);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->fits);
  EXPECT_EQ(plan->unload, "a");
  EXPECT_FALSE(plan->unload_is_busy);
}

TEST(ModelRoom, is_made_by_idle_models_before_busy_ones) {
  const std::vector<ResidentModel> all = {default_model(), resident("old", 10, true),
                                          resident("idle", 20)};
  EXPECT_EQ(plan_room("new", 60, all, 230)->unload, "idle");
  const auto plan = plan_room("new", 60, {default_model(), resident("old", 10, true)}, 180);
  EXPECT_EQ(plan->unload, "old");
  EXPECT_TRUE(plan->unload_is_busy);
}

TEST(ModelRoom, is_never_made_by_the_default_model) {
  const auto plan = plan_room("new", 60, {default_model(), resident("a", 10)}, 155);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(plan.error().field, "max_model_memory");
  EXPECT_THAT(plan.error().message, HasSubstr("new takes 60 bytes"));
  EXPECT_THAT(plan.error().message, HasSubstr("default model's 100"));
  EXPECT_THAT(plan.error().message, HasSubstr("max_model_memory is 155"));
}

TEST(ModelRoom, is_made_step_by_step_until_it_suffices) {
  std::vector<ResidentModel> all = {default_model(), resident("a", 1), resident("b", 2),
                                    resident("c", 3)};
  std::vector<std::string> gone;
  auto plan = plan_room("new", 120, all, 280);
  for (; plan.ok() && !plan->fits; plan = plan_room("new", 120, all, 280)) {
    gone.push_back(plan->unload);
    std::erase_if(all, [&](const ResidentModel& model) { return model.name == plan->unload; });
  }
  EXPECT_THAT(gone, ::testing::ElementsAre("a", "b"));
}

TEST(ModelFile, has_the_name_of_its_folder_or_file) {
  EXPECT_EQ(model_file_of("Qwen3-0.6B", true).value()->name, "Qwen3-0.6B");
  const auto file = model_file_of("tiny-Q8_0.gguf", false);
  EXPECT_EQ(file.value()->name, "tiny-Q8_0");
  EXPECT_TRUE(file.value()->is_gguf);
  EXPECT_EQ(model_file_of("Mein Gro\xC3\xA9.gguf", false).value()->name, "Mein Gro\xC3\xA9");
}

TEST(ModelFile, counts_once_when_it_is_split) {
  EXPECT_EQ(model_file_of("big-00001-of-00003.gguf", false).value()->name, "big");
  EXPECT_FALSE(model_file_of("big-00002-of-00003.gguf", false).value().has_value());
  EXPECT_EQ(model_file_of("big-0001-of-0003.gguf", false).value()->name, "big-0001-of-0003");
  EXPECT_EQ(model_file_of("big-00001-of-00003", true).value()->name, "big-00001-of-00003");
}

TEST(ModelFile, may_not_have_any_name) {
  for (const std::string name : {".hidden", "-rf", "caf\xE9", "a\nb", "a\x1B", "default", ""}) {
    EXPECT_FALSE(model_file_of(name, true).ok()) << name;
  }
  EXPECT_FALSE(model_file_of(".gguf", false).ok());
  EXPECT_FALSE(model_file_of(std::string(256, 'm'), true).ok());
  EXPECT_FALSE(model_file_of("-00001-of-00002.gguf", false).ok());
  EXPECT_EQ(model_file_of("default.gguf", false).error().field, "default.gguf");
}

}  // namespace
}  // namespace cascade
