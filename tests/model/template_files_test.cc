// Chat templates in files and in tokenizer_config.json.
#include "model/template_files.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::TemporaryFolder;

std::string chosen(const ModelTemplates& templates, bool tools) {
  const auto found = templates.choose(tools);
  return found.ok() ? plain_text(*(*found)->source().render(OrderedJson::object(), 0))
                    : found.error().message;
}

Json listed(const char* name, const char* source) {
  return {{"name", name}, {"template", source}};
}

TEST(TemplateFiles, a_configuration_has_one_or_several) {
  const TemporaryFolder folder;
  EXPECT_EQ(chosen(read_templates(folder.path(), {{"chat_template", "one"}}, {}), true), "one");
  const Json several = {{"chat_template", {listed("default", "a"), listed("tool_use", "b")}}};
  const ModelTemplates templates = read_templates(folder.path(), several, {});
  EXPECT_EQ(chosen(templates, false), "a");
  EXPECT_EQ(chosen(templates, true), "b");
  const Json by_name = {{"chat_template", {{"default", "a"}, {"tool_use", "b"}}}};
  EXPECT_EQ(chosen(read_templates(folder.path(), by_name, {}), true), "b");
  for (const Json& none : {Json(), Json::object(), Json{{"chat_template", nullptr}}}) {
    EXPECT_NE(chosen(read_templates(folder.path(), none, {}), false).find("has none"),
              std::string::npos);
  }
}

TEST(TemplateFiles, files_win_over_the_configuration) {
  const TemporaryFolder folder;
  const Json config = {{"chat_template", {listed("default", "a"), listed("tool_use", "b")}}};
  folder.write("chat_template.jinja",
               "\xEF\xBB\xBF"
               "file");
  EXPECT_EQ(chosen(read_templates(folder.path(), config, {}), true), "file");
  std::filesystem::create_directory(folder.path() / "additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  folder.write("additional_chat_templates/notes.txt", "{% no template %}");
  const ModelTemplates templates = read_templates(folder.path(), config, {});
  EXPECT_EQ(chosen(templates, false), "file");
  EXPECT_EQ(chosen(templates, true), "tools");
  EXPECT_TRUE(templates.problems().empty());
}

TEST(TemplateFiles, what_cannot_be_read_is_a_template_that_cannot_be_used) {
  const TemporaryFolder folder;
  for (const Json& wrong : {Json(7), Json::array({5}), Json::array({{{"name", "x"}}}),
                            Json::array({listed("default", "{% if %}")})}) {
    const ModelTemplates templates =
        read_templates(folder.path(), {{"chat_template", wrong}}, OrderedJson::object());
    EXPECT_EQ(templates.problems().size(), 1u) << wrong;
    EXPECT_FALSE(templates.choose(false).ok()) << wrong;
  }
  std::filesystem::create_symlink("/etc/hostname", folder.path() / "chat_template.jinja");
  EXPECT_EQ(read_templates(folder.path(), {}, {}).problems().size(), 1u);
}

TEST(TemplateFiles, a_file_that_is_named_is_the_only_template) {
  const TemporaryFolder folder;
  const auto file = folder.write("mine.jinja", "mine");
  const auto templates = read_template_file(file, OrderedJson::object());
  ASSERT_TRUE(templates.ok());
  EXPECT_EQ(chosen(*templates, true), "mine");
  EXPECT_EQ(read_template_file(folder.path() / "none", {}).error().code, ErrorCode::kNotFound);
  const auto wrong = read_template_file(folder.write("wrong.jinja", "{% if %}"), {});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().field.find("wrong.jinja"), std::string::npos);
}

TEST(TemplateFiles, tokens_are_texts_or_objects_with_content) {
  const Json config = {
      {"bos_token", "<s>"}, {"eos_token", {{"content", "</s>"}}}, {"pad_token", 5}};
  EXPECT_EQ(template_tokens(config), (OrderedJson{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
  EXPECT_EQ(template_tokens(Json()), OrderedJson::object());
}

}  // namespace
}  // namespace cascade
