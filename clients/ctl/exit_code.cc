// Which exit code an error has.
#include "clients/cpp/endpoint.h"
#include "clients/ctl/run.h"

namespace cascade::ctl {

int exit_code_of(const Error& error) {
  if (client::is_unreachable(error)) return kExitUnreachable;
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

}  // namespace cascade::ctl
