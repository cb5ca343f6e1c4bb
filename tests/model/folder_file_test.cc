// Links in a model folder: which are followed.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "model/folder_file.h"
#include "model/model.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

void expect_refused(const fs::path& path) {
  const auto text = read_folder_file(path, 1000);
  ASSERT_FALSE(text.ok()) << path;
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().field, path.string());
  EXPECT_EQ(text.error().message.find("secret"), std::string::npos);
}

std::string text_of(const fs::path& path) {
  const auto text = read_folder_file(path, 1000);
  EXPECT_TRUE(text.ok()) << text.error().to_string();
  return text.ok() ? *text : "";
}

TEST(FolderFile, may_be_a_link_within_the_folder) {
  const TemporaryFolder folder;
  folder.write("plain", "text");
  fs::create_symlink("plain", folder.path() / "link");
  fs::create_directory(folder.path() / "more");
  folder.write("more/deep", "deep text");
  fs::create_symlink("more/deep", folder.path() / "other");
  EXPECT_EQ(text_of(folder.path() / "plain"), "text");
  EXPECT_EQ(text_of(folder.path() / "link"), "text");
  EXPECT_EQ(text_of(folder.path() / "other"), "deep text");
}

TEST(FolderFile, may_not_lead_out_of_the_folder) {
  const TemporaryFolder outside;
  const fs::path target = outside.write("notes", "secret");
  const TemporaryFolder folder;
  fs::create_symlink(target, folder.path() / "chat_template.jinja");
  expect_refused(folder.path() / "chat_template.jinja");
  fs::create_symlink("chat_template.jinja", folder.path() / "config.json");
  expect_refused(folder.path() / "config.json");
  // A folder whose name begins with this folder's name is a different folder.
  const fs::path beside = folder.path().string() + "-beside";
  fs::create_directory(beside);
  fs::copy_file(target, beside / "notes");
  fs::create_symlink(beside / "notes", folder.path() / "tokenizer.json");
  expect_refused(folder.path() / "tokenizer.json");
  fs::remove_all(beside);
}

TEST(FolderFile, may_lie_in_the_cache_of_the_hub) {
  const TemporaryFolder cache;
  const fs::path model = cache.path() / "models--owner--name";
  fs::create_directories(model / "blobs");
  fs::create_directories(model / "snapshots/0123abcd/more");
  cache.write("models--owner--name/blobs/4567", "text");
  fs::create_symlink("../../blobs/4567", model / "snapshots/0123abcd/config.json");
  fs::create_symlink("../../../blobs/4567", model / "snapshots/0123abcd/more/config.json");
  EXPECT_EQ(text_of(model / "snapshots/0123abcd/config.json"), "text");
  EXPECT_EQ(text_of(model / "snapshots/0123abcd/more/config.json"), "text");
  // The folder itself may be a link.
  const TemporaryFolder home;
  fs::create_directory_symlink(model / "snapshots/0123abcd", home.path() / "model");
  EXPECT_EQ(text_of(home.path() / "model/config.json"), "text");

  const fs::path other = cache.path() / "models--owner--other";
  fs::create_directories(other / "blobs");
  cache.write("models--owner--other/blobs/4567", "secret");
  fs::create_symlink(other / "blobs/4567", model / "snapshots/0123abcd/tokenizer.json");
  expect_refused(model / "snapshots/0123abcd/tokenizer.json");
}

TEST(FolderFile, may_be_the_same_file_of_another_model) {
  const TemporaryFolder other;
  other.write("config.json", "of the other");
  other.write("chat_template.jinja", "template");
  const TemporaryFolder folder;
  fs::create_symlink(other.path() / "config.json", folder.path() / "config.json");
  fs::create_symlink(other.path() / "chat_template.jinja", folder.path() / "chat_template.jinja");
  expect_refused(folder.path() / "config.json");
  expect_refused(folder.path() / "chat_template.jinja");
  other.write("tokenizer.json", "{}");
  EXPECT_EQ(text_of(folder.path() / "config.json"), "of the other");
  EXPECT_EQ(text_of(folder.path() / "chat_template.jinja"), "template");
  fs::create_symlink(other.path() / "config.json", folder.path() / "generation_config.json");
  expect_refused(folder.path() / "generation_config.json");
}

TEST(FolderFile, that_does_not_exist_is_not_found) {
  const TemporaryFolder folder;
  fs::create_symlink("nowhere", folder.path() / "dangling");
  for (const char* name : {"absent", "dangling"}) {
    const auto text = read_folder_file(folder.path() / name, 1000);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kNotFound) << name;
  }
}

// Checks each text file of a model.
TEST(FolderFile, is_checked_for_every_text_of_a_model) {
  const TemporaryFolder outside;
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    const TemporaryFolder folder;
    for (const auto& file : fs::directory_iterator(demo_model_dir())) {
      fs::create_symlink(file.path(), folder.path() / file.path().filename());
    }
    ASSERT_TRUE(check_model(folder.path(), {}).ok());
    fs::remove(folder.path() / name);
    fs::create_symlink(outside.write("notes", "{}"), folder.path() / name);
    const Status status = check_model(folder.path(), {});
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.error().field, (folder.path() / name).string());
  }
}

}  // namespace
}  // namespace cascade::testing
