// The exit codes of errors and of answers, and how a command ends with an error.
#include "clients/cpp/endpoint.h"
#include "clients/ctl/cut_answer.h"
#include "clients/ctl/run.h"

namespace cascade::ctl {

int exit_code_of(const Error& error) {
  if (client::is_unreachable(error)) return kExitUnreachable;
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

int failed(Screen& screen, const Error& error) {
  print_error(screen, error);
  return exit_code_of(error);
}

int exit_code_of(const client::Generation& generation) {
  if (generation.finish_reason == "cancelled") return kExitFailed;
  return is_cut(generation) ? kExitCut : kExitOk;
}

int worse_exit_code(int before, int next) {
  const bool failed = before != kExitOk && before != kExitCut;
  return failed || next == kExitOk ? before : next;
}

}  // namespace cascade::ctl
