// The attention mode, from cascadectl and the client library to a daemon and back.
#include <gtest/gtest.h>

#include "base/json.h"
#include "clients/cpp/client.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using testing::DaemonProcess;
using testing::ProgramResult;
using testing::run_program;
using testing::ScratchDir;

class AttentionSystem : public ::testing::Test {
 protected:
  AttentionSystem() : daemon_(scratch_.path() / "run", "", "", {"--attention", "window:256:16"}) {
    EXPECT_TRUE(daemon_.serving()) << daemon_.log();
  }
  ProgramResult generate(std::vector<std::string> arguments) const {
    const std::vector<std::string> all = {"generate", "--endpoint", daemon_.endpoint(),
                                          "--max-tokens", "4"};
    arguments.insert(arguments.begin(), all.begin(), all.end());
    arguments.emplace_back("What is 2+2?");
    return run_program("cascadectl", arguments);
  }
  std::string used(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return Json::parse(generate(arguments).out)["attention"];
  }

  const ScratchDir scratch_;
  const DaemonProcess daemon_;
};

TEST_F(AttentionSystem, cascadectl_names_a_mode_and_tells_which_was_used) {
  EXPECT_EQ(used({}), "window:256:16");
  EXPECT_EQ(used({"--attention", "dense"}), "dense");
  EXPECT_EQ(used({"--attention", "window:512"}), "window:512:64");
  EXPECT_EQ(used({"--attention", "select"}), "select:4096:0");
  EXPECT_EQ(used({"--attention", "verify:64"}), "verify:64:0");
}

TEST_F(AttentionSystem, cascadectl_says_what_is_wrong_with_a_mode) {
  const ProgramResult sparse = generate({"--attention", "sparse"});
  EXPECT_EQ(sparse.exit_code, 2);
  EXPECT_EQ(sparse.err,
            "error: invalid_argument: --attention: must be dense, window, window:W, window:W:S, "
            "select, select:B, select:B:D, verify, verify:B or verify:B:D, such as window:4096:64 "
            "or select:4096, got \"sparse\"\n");
  const ProgramResult longer = generate({"--attention", std::string(65, 'w')});
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_EQ(
      longer.err,
      "error: invalid_argument: --attention: has 65 bytes, more than the limit of 64; must "
      "be dense, window, window:W, window:W:S, select, select:B, select:B:D, verify, verify:B "
      "or verify:B:D\n");
}

TEST_F(AttentionSystem, of_the_client_library_is_that_of_its_answer) {
  auto client = client::Client::connect(daemon_.endpoint(), {.timeout_ms = 60'000});
  ASSERT_TRUE(client.ok()) << client.error().to_string();
  wire::GenerateRequest request;
  request.prompt = "The capital of France is";
  request.max_tokens = 4;
  for (const auto& [mode, used] : {std::pair("dense", "dense"),
                                   {"window", "window:4096:64"},
                                   {"select:100", "select:128:0"}}) {
    request.attention = mode;
    const auto answer = client->generate(request);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_EQ(answer->attention, used);
  }
}

}  // namespace
}  // namespace cascade
