// The input of cascadectl: standard input, and files that editors wrote.
#include <gtest/gtest.h>

#include "tests/clients/program_on_pipes.h"

namespace cascade::ctl {
namespace {

using client::testing::TempFolder;
using testing::PipeOutcome;
using testing::run_on_pipes;

TEST(ProgramInput, reads_stdin_where_a_file_is_a_dash) {
  const PipeOutcome context = run_on_pipes({"generate", "--context-file", "-", "What?"}, "a fact");
  EXPECT_EQ(context.compositions, (std::vector<std::string>{"CONTEXT:a fact QUERY:What?"}));
  for (const char* option : {"--json-schema", "--grammar"}) {
    const PipeOutcome held = run_on_pipes({"generate", option, "-", "What?"}, "{}");
    EXPECT_EQ(held.compositions, (std::vector<std::string>{"QUERY:What?"})) << held.err;
  }
  EXPECT_EQ(run_on_pipes({"generate", "--context-file", "-"}, "a fact").err,
            "error: invalid_argument: PROMPT: is missing: standard input is already read for "
            "--context-file\n");
  EXPECT_EQ(run_on_pipes({"generate", "--json-schema", "-", "--context-file", "-", "x"}, "{}").code,
            kExitUsage);
}

TEST(ProgramInput, takes_no_byte_order_mark_for_text) {
  const std::string mark = "\xEF\xBB\xBF";
  const TempFolder folder;
  const std::string file = folder.write("lines.jsonl", mark + "{\"query\": \"a\"}\n");
  const std::string text_file = folder.write("context.txt", mark + "a fact");
  const PipeOutcome batch = run_on_pipes({"generate", "--batch", file}, "");
  EXPECT_EQ(batch.compositions, (std::vector<std::string>{"QUERY:a"})) << batch.err;
  const PipeOutcome piped = run_on_pipes({"generate", "--batch", "-"}, mark + "{\"query\": \"b\"}");
  EXPECT_EQ(piped.compositions, (std::vector<std::string>{"QUERY:b"})) << piped.err;
  const PipeOutcome prompt =
      run_on_pipes({"generate", "--context-file", text_file}, mark + "What?\n");
  EXPECT_EQ(prompt.compositions, (std::vector<std::string>{"CONTEXT:a fact QUERY:What?"}));
  const PipeOutcome other = run_on_pipes({"generate"}, std::string("\xFF\xFEo\0", 4));
  EXPECT_EQ(other.err, "error: invalid_argument: stdin: is UTF-16 or UTF-32; save it as UTF-8\n");
}

}  // namespace
}  // namespace cascade::ctl
