// The connections of a door: their tenants, and which connection ends when another one needs its
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace cascade {

// Times are in microseconds, of any clock that does not go back. A connection keeps its place until
// the latest time given for it, which may be in the future: until then, what was received or sent
// on it may still be on its way. One thread.
class ConnectionTable {
 public:
  using Id = uint64_t;

  // Adds a new connection. It has sent nothing yet, so it belongs to nobody.
  void add(Id id, int64_t until_us);
  // Notes that something came from the connection: it belongs to the tenant from now on. This
  // function and those below do nothing if there is no such connection.
  void heard(Id id, const std::string& tenant, int64_t until_us);
  // Notes whether the connection waits for an answer. A waiting connection keeps its place.
  void set_busy(Id id, bool busy, int64_t until_us);
  void remove(Id id);

  bool contains(Id id) const { return entries_.contains(id); }
  size_t size() const { return entries_.size(); }
  // The number of the tenant's connections. Connections that have sent nothing yet belong to the
  // tenant "".
  size_t count(const std::string& tenant) const;

  // Returns the connection to end when the door is full: among those of the tenant with the most
  // connections, the one that has been idle for longest. So a tenant that fills a door makes room
  // at its own expense, and the others keep their places. A tenant is passed over while all of its
  // connections wait for an answer. nullopt if every connection waits, or if all connections of the
  // chosen tenant are in use: other tenants do not lose theirs to a crowd that has just come.
  std::optional<Id> next_to_go(int64_t now_us) const;

 private:
  struct Entry {
    std::string tenant;    // empty: nobody's
    int64_t until_us = 0;  // in use until then
    bool busy = false;
  };
  struct Tenant {
    size_t count = 0;
    std::set<std::pair<int64_t, Id>> idle;  // by until_us
  };

  template <class Change>
  void change(Id id, int64_t until_us, const Change& what);
  void list(Id id, const Entry& entry);
  void unlist(Id id, const Entry& entry);

  std::map<Id, Entry> entries_;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace cascade
