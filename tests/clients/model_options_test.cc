// cascadectl model …, and --model-name.
#include "clients/ctl/model_commands.h"
#include "clients/ctl/model_place.h"
#include "clients/ctl/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/clients/command_lines.h"

namespace cascade::ctl {
namespace {

using ::testing::HasSubstr;
using testing::parse;
using Command = Options::Command;

TEST(ModelOptions, name_a_command_and_a_model) {
  const auto list = parse({"model", "list", "--json"});
  EXPECT_EQ(std::get<Options>(list).command, Command::kModelList);
  EXPECT_TRUE(std::get<Options>(list).json);
  const auto load = parse({"model", "load", "Qwen3-0.6B", "--estimate"});
  EXPECT_EQ(std::get<Options>(load).command, Command::kModelLoad);
  EXPECT_EQ(std::get<Options>(load).model_command.name, "Qwen3-0.6B");
  EXPECT_TRUE(std::get<Options>(load).model_command.estimate);
  const auto unload = parse({"model", "unload", "Qwen3-0.6B"});
  EXPECT_EQ(std::get<Options>(unload).command, Command::kModelUnload);
}

TEST(ModelOptions, refuse_what_is_no_models_name) {
  EXPECT_EQ(std::get<int>(parse({"model", "load"})), 2);
  EXPECT_EQ(std::get<int>(parse({"model", "load", "-x"})), 2);
  EXPECT_EQ(std::get<int>(parse({"model", "load", "a\nb"})), 2);
  EXPECT_EQ(std::get<int>(parse({"model", "load", "a/\xFF"})), 2);
  EXPECT_EQ(std::get<int>(parse({"--model-name", "a/b", "status"})), 2);
}

TEST(ModelOptions, take_names_as_people_write_them) {
  for (const std::string name : {"Mein Modell", "Gro\xC3\xA9", "phi (4-bit)"}) {
    for (const std::string& given : {name, name + "/", name + "//"}) {
      EXPECT_EQ(std::get<Options>(parse({"--model-name", given.c_str(), "status"})).model, name);
      for (const char* command : {"load", "unload"}) {
        const auto parsed = parse({"model", command, given.c_str()});
        EXPECT_EQ(std::get<Options>(parsed).model_command.name, name);
      }
    }
  }
  const auto path = parse({"model", "load", "./models/a/"});
  EXPECT_EQ(std::get<Options>(path).model_command.name, "./models/a");
  EXPECT_EQ(std::get<int>(parse({"model", "load", ""})), 2);
  EXPECT_EQ(std::get<int>(parse({"--model-name", "caf\xE9", "status"})), 2);
}

TEST(ModelPlace, of_a_file_is_the_name_of_its_model) {
  wire::ModelListReply models;
  const auto add = [&](const char* name, const char* path) {
    wire::ModelInfo model;
    model.name = name;
    model.path = path;
    models.models.push_back(model);
  };
  add("demo", "/opt/demo");
  add("tiny-Q8_0", "/srv/models/tiny-Q8_0.gguf");
  add("big", "/srv/models/big-00001-of-00003.gguf");
  add("folder", "/srv/models/folder");
  models.models_dir = "/srv/models";
  const auto name_of = [&](const std::string& given) {
    const auto name = model_name_of(given, models);
    return name.ok() ? *name : name.error().to_string();
  };
  EXPECT_EQ(name_of("tiny-Q8_0.gguf"), "tiny-Q8_0");
  EXPECT_EQ(name_of("/srv/models/tiny-Q8_0.gguf"), "tiny-Q8_0");
  EXPECT_EQ(name_of("/srv/../srv/models/./tiny-Q8_0.gguf"), "tiny-Q8_0");
  EXPECT_EQ(name_of("big-00001-of-00003.gguf"), "big");
  EXPECT_EQ(name_of("/srv/models/folder/"), "folder");
  EXPECT_EQ(name_of("/opt/demo"), "demo");
  // The same file name in another folder is another model.
  EXPECT_THAT(
      name_of("/home/me/tiny-Q8_0.gguf"),
      HasSubstr("is not one of the daemon's models, which are: demo, tiny-Q8_0, big, folder; "
                "the daemon loads what is in /srv/models"));
  EXPECT_THAT(name_of("other.gguf"), HasSubstr("put it, or a link to it, there"));
  EXPECT_TRUE(is_model_file("x.gguf"));
  EXPECT_TRUE(is_model_file("./x"));
  EXPECT_FALSE(is_model_file("Qwen3-0.6B"));
}

TEST(ModelOptions, say_which_model_any_command_asks) {
  EXPECT_EQ(std::get<Options>(parse({"--model-name", "m", "chunk", "list"})).model, "m");
  EXPECT_EQ(std::get<Options>(parse({"chunk", "list", "--model-name", "m"})).model, "m");
  EXPECT_EQ(std::get<Options>(parse({"chunk", "list"})).model, "");
}

TEST(Models, are_shown_with_what_they_take) {
  wire::ModelListReply reply;
  wire::ModelInfo demo;
  demo.name = "demo";
  demo.state = "loaded";
  demo.is_default = true;
  demo.total_bytes = 3 << 20;
  wire::ModelInfo broken;
  broken.name = "broken";
  broken.state = "unloaded";
  broken.problem = "config.json: \x1b[2J is not a number";
  reply.models = {demo, broken};
  reply.total_bytes = 3 << 20;
  reply.total_bytes_max = 1 << 30;
  const std::string text = render_models(reply, Style(false));
  EXPECT_THAT(text, HasSubstr("demo (default)"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB of 1.0 GiB"));
  EXPECT_THAT(text, HasSubstr("broken: config.json"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cascade::ctl
