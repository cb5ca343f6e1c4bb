// The connections at a door of ZeroMQ clients. This class knows which peers use which connection,
// which peers have left, and which connection to end when the door is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/accept_guard.h"
#include "actors/connection_table.h"

namespace cascade {

// A connection is named by its file descriptor, as ZeroMQ does. One thread: that of the port.
class DoorGuests {
 public:
  // `connections_max`: the most connections at once, 0: any number. `makes_room`: a full door ends
  // an idle connection for a new one; otherwise it turns the new one away.
  DoorGuests(size_t connections_max, bool makes_room)
      : connections_max_(connections_max), makes_room_(makes_room) {}

  // If connections are bounded, bounds those accepted at this listening descriptor. Returns the
  // descriptor at which ZeroMQ listens instead. The caller owns that descriptor, and no longer owns
  // the listener.
  int guard(int listener);

  // Take ZeroMQ's reports of connections, in the order in which ZeroMQ gives them.
  void accepted(int connection);
  void ended(int connection);
  // Notes that a message of `peer`, a client of `tenant`, came.
  void heard(int connection, const std::string& peer, const std::string& tenant);
  // Notes whether the peer waits for an answer.
  void set_busy(const std::string& peer, bool busy);

  // Ends connections until there are few enough. Precondition: accepted() and ended() were called
  // for everything that ZeroMQ has told so far.
  void make_room();
  // The peers whose connections have ended; each is reported once.
  std::vector<std::string> take_gone();

 private:
  struct Connection {
    ConnectionTable::Id id = 0;
    uint64_t cookie = 0;  // of its socket: the descriptor may be reused
  };
  size_t easy_max() const;
  void show_out(ConnectionTable::Id id);
  void end_peers(int connection);

  const size_t connections_max_;
  const bool makes_room_;
  std::optional<AcceptGuard> guard_;
  ConnectionTable table_;
  ConnectionTable::Id next_id_ = 1;
  std::map<int, Connection> connections_;
  std::map<ConnectionTable::Id, int> by_id_;
  std::multimap<int, std::string> peers_of_;  // by connection, which mostly has one
  std::map<std::string, int> last_heard_on_;  // by peer
  std::vector<std::string> gone_;
};

}  // namespace cascade
