// cascadectl on pipes, against a fake daemon.
#pragma once

#include <string>
#include <vector>

#include "tests/clients/chat_daemon.h"
#include "tests/clients/program.h"

namespace cascade::ctl::testing {

using ProgramArguments = std::vector<std::string>;

// What a run on pipes printed and how it ended.
struct PipeOutcome {
  int code = -1;
  std::string out;
  std::string err;
  std::vector<std::string> compositions;
};

inline PipeOutcome run_on_pipes(ProgramArguments arguments, const std::string& input) {
  const client::testing::TempFolder folder;
  arguments.insert(arguments.end(), {"--endpoint", folder.endpoint()});
  Program program(arguments, folder.path(), Program::On::kPipes);
  const client::testing::ChatDaemon daemon(folder.endpoint());
  program.start();
  program.type(input);
  program.close_input();
  const int code = program.finish();
  return {code, program.out(), program.err(), daemon.compositions()};
}

}  // namespace cascade::ctl::testing
