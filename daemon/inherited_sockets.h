// Sockets that a service manager has bound and handed over (sd_listen_fds(3)).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade {

// Owns the descriptors that nobody has taken. One thread.
class InheritedSockets {
 public:
  // Takes over the sockets that LISTEN_FDS announces; once per process. Errors: kInvalidArgument,
  // field "LISTEN_FDS", for a descriptor that is not a listening stream socket.
  static Result<InheritedSockets> take();

  InheritedSockets() = default;
  InheritedSockets(InheritedSockets&& other) noexcept;
  InheritedSockets& operator=(InheritedSockets&&) = delete;
  ~InheritedSockets();

  // The socket that listens at "ipc://PATH"; nullopt if there is none. This object still owns it.
  std::optional<int> find_ipc(const std::string& endpoint) const;
  // The sockets that listen at none of the given endpoints: those for HTTP. The caller owns them.
  std::vector<int> take_others(const std::vector<std::string>& endpoints);

 private:
  std::map<std::string, int> by_path_;
  std::vector<int> tcp_;
};

}  // namespace cascade
