// Tells sockets apart by numbers that are never used again (SO_COOKIE): descriptors are reused.
#include "actors/door_guests.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace cascade {
namespace {

// A door keeps one in this many of its connections free for clients that come while others are
// being ended.
constexpr size_t kComingShare = 8;

// How long a connection is protected after its client came, a message of the client came, or an
// answer was given to ZeroMQ's thread: ending it would lose what is on its way. Clients that are
// turned away meanwhile lose nothing, and try again after the same time (ZMQ_RECONNECT_IVL).
constexpr int64_t kInUseUs = 100'000;

int64_t in_use_until() {
  return system_clock().monotonic_us() + kInUseUs;
}

// Returns 0 if there is no such socket.
uint64_t cookie_of(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

// Ends the connection as if its client had; false if the socket no longer exists. ZeroMQ owns the
// descriptor and may close it at any time; a duplicate keeps referring to the same socket.
bool end_connection(int connection, uint64_t cookie) {
  const int own = ::fcntl(connection, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return errno != EBADF;  // no descriptor for a duplicate: the client stays
  const bool same = cookie_of(own) == cookie;
  if (same) ::shutdown(own, SHUT_RDWR);
  ::close(own);
  return same;
}

}  // namespace

int DoorGuests::guard(int listener) {
  if (connections_max_ == 0) return listener;
  guard_.emplace(listener, AcceptGuard::Limits{connections_max_, easy_max()});
  return guard_->door();
}

size_t DoorGuests::easy_max() const {
  if (!makes_room_ || connections_max_ == 1) return connections_max_;
  return connections_max_ - std::max<size_t>(1, connections_max_ / kComingShare);
}

void DoorGuests::accepted(int connection) {
  ended(connection);  // a known connection with this descriptor has ended
  const Connection added = {next_id_++, cookie_of(connection)};
  connections_[connection] = added;
  by_id_[added.id] = connection;
  table_.add(added.id, in_use_until());
}

void DoorGuests::ended(int connection) {
  end_peers(connection);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  table_.remove(found->second.id);
  by_id_.erase(found->second.id);
  connections_.erase(found);
  if (guard_) guard_->ended();
}

void DoorGuests::end_peers(int connection) {
  const auto [begin, end] = peers_of_.equal_range(connection);
  for (auto peer = begin; peer != end; ++peer) {
    const auto last = last_heard_on_.find(peer->second);
    if (last != last_heard_on_.end() && last->second == connection) last_heard_on_.erase(last);
    gone_.push_back(peer->second);
  }
  peers_of_.erase(begin, end);
}

// The system reuses a descriptor as soon as it is closed. When ZeroMQ gives us a message, it has
// already reported everything that happened to the message's descriptor before. But it may give us
// a message whose connection has ended when another connection already has the descriptor. Then two
// peers share the descriptor, nobody knows which of them has left, and both count as present until
// the newer connection ends.
void DoorGuests::heard(int connection, const std::string& peer, const std::string& tenant) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) {
    gone_.push_back(peer);  // the connection ended before its message was read
    return;
  }
  table_.heard(found->second.id, tenant, in_use_until());
  last_heard_on_[peer] = connection;
  const auto [begin, end] = peers_of_.equal_range(connection);
  const bool known = std::any_of(begin, end, [&](const auto& p) { return p.second == peer; });
  if (!known) peers_of_.emplace(connection, peer);
}

void DoorGuests::set_busy(const std::string& peer, bool busy) {
  const auto last = last_heard_on_.find(peer);
  if (last == last_heard_on_.end()) return;
  table_.set_busy(connections_.at(last->second).id, busy, in_use_until());
}

void DoorGuests::make_room() {
  if (!guard_ || !makes_room_) return;
  while (table_.size() > easy_max()) {
    const auto next = table_.next_to_go(system_clock().monotonic_us());
    if (!next) return;
    show_out(*next);
  }
}

void DoorGuests::show_out(ConnectionTable::Id id) {
  const int connection = by_id_.at(id);
  table_.remove(id);  // ZeroMQ will report its end
  if (!end_connection(connection, connections_.at(connection).cookie)) ended(connection);
}

std::vector<std::string> DoorGuests::take_gone() {
  return std::exchange(gone_, {});
}

}  // namespace cascade
