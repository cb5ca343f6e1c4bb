// Which exit code an error has, and how a command ends with it.
#include "clients/cpp/endpoint.h"
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

}  // namespace cascade::ctl
