// Tests of model files that were downloaded the wrong way: the error says what is wrong.
#include "model/incomplete_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/gguf/files.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "tests/model/safetensors_file.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::safetensors;
using testing::small_data;
using testing::small_table;
using testing::TemporaryFolder;

constexpr char kPointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 1503300328\n";

std::string problem_of(const Status& status) {
  return status.ok() ? "" : status.error().to_string();
}

TEST(IncompleteFile, pointers_of_git_lfs_and_web_pages_are_told_from_files) {
  EXPECT_EQ(problem_of(check_is_downloaded("m.gguf", std::string_view(kPointer))),
            "data_corrupt: m.gguf: is a Git-LFS pointer, and the file itself, of 1503300328 "
            "bytes, is not there: run `git lfs pull` in its folder, or download it");
  const std::string_view sizeless = "version https://git-lfs.github.com/spec/v1\noid x\n";
  EXPECT_THAT(problem_of(check_is_downloaded("m", sizeless)), HasSubstr("the file itself is not"));
  for (const std::string_view page : {"<!DOCTYPE html><html>", "\n <HTML lang=en>"}) {
    EXPECT_THAT(problem_of(check_is_downloaded("m", page)), HasSubstr("is a web page"));
  }
  for (const std::string_view file : {"", "GGUF", "{\"a\": 1}", "version 1", "<"}) {
    EXPECT_EQ(problem_of(check_is_downloaded("m", file)), "") << file;
  }
}

TEST(IncompleteFile, a_pointer_in_the_place_of_any_file_is_called_that) {
  const TemporaryFolder folder;
  folder.write("model.gguf", kPointer);
  folder.write("model.safetensors", kPointer);
  folder.write("model.bin", kPointer);
  const auto of_gguf = GgufFiles::open(folder.path() / "model.gguf");
  ASSERT_FALSE(of_gguf.ok());
  EXPECT_THAT(of_gguf.error().to_string(), HasSubstr("model.gguf: is a Git-LFS pointer"));
  const auto of_folder = TensorFiles::open(folder.path());
  ASSERT_FALSE(of_folder.ok());
  EXPECT_THAT(of_folder.error().to_string(), HasSubstr("model.safetensors: is a Git-LFS pointer"));
  const auto of_other = load_model_config(folder.path() / "model.bin");
  ASSERT_FALSE(of_other.ok());
  EXPECT_THAT(of_other.error().to_string(), HasSubstr("model.bin: is a Git-LFS pointer"));
  folder.write("tokenizer.json", kPointer);
  const auto of_tokenizer = load_model_text(folder.path());
  ASSERT_FALSE(of_tokenizer.ok());
  EXPECT_THAT(of_tokenizer.error().to_string(), HasSubstr("tokenizer.json: is a Git-LFS pointer"));
}

TEST(IncompleteFile, one_file_of_a_folder_is_no_model) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", safetensors(small_table().dump(), small_data()));
  const auto config = load_model_config(folder.path() / "model.safetensors");
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("give the folder that it is in"));
}

TEST(IncompleteFile, a_download_that_did_not_end_is_called_that_wherever_it_ended) {
  const std::string whole = safetensors(small_table().dump(), small_data());
  ASSERT_TRUE(parse_safetensors_header(testing::as_bytes(whole)).ok());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto cut = parse_safetensors_header(testing::as_bytes(whole.substr(0, bytes)));
    ASSERT_FALSE(cut.ok()) << bytes;
    EXPECT_THAT(cut.error().message, HasSubstr("the file is cut off")) << bytes;
    EXPECT_THAT(cut.error().message, HasSubstr("download it again")) << bytes;
  }
  const auto longer = parse_safetensors_header(testing::as_bytes(whole + "x"));
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.error().message, Not(HasSubstr("cut off")));
}

}  // namespace
}  // namespace cascade
