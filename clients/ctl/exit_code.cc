// Which exit code an error has.
#include "clients/cpp/endpoint.h"
#include "clients/ctl/run.h"

namespace cascade::ctl {

int exit_code_of(const Error& error) {
  return client::is_unreachable(error) ? kExitUnreachable : kExitFailed;
}

}  // namespace cascade::ctl
