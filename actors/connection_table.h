// The connections of a door: whose they are, and which of them goes when another one needs its
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

// Times are of any clock that does not go back, in microseconds. A connection keeps its place until
// the latest time that was given for it, which may be still to come: what came or goes out on it is
// on its way until then. One thread.
class ConnectionTable {
 public:
  using Id = uint64_t;

  // A new connection. Nothing was heard of it, so it is nobody's.
  void add(Id id, int64_t until_us);
  // Something came from it: it is the tenant's from now on. Nothing if there is no such connection;
  // so of all that follow.
  void heard(Id id, const std::string& tenant, int64_t until_us);
  // It waits for an answer, or does not any more. One that waits keeps its place.
  void set_busy(Id id, bool busy, int64_t until_us);
  void remove(Id id);

  bool contains(Id id) const { return entries_.contains(id); }
  size_t size() const { return entries_.size(); }
  // The tenant's connections. Those that have said nothing yet belong to the tenant "".
  size_t count(const std::string& tenant) const;

  // The connection to end when the door is full: the one that has been idle for longest among those
  // of the tenant with the most connections. So a tenant that fills a door makes room in it, and
  // the others keep their places. A tenant is passed over while all of its connections wait for an
  // answer. nullopt if every connection does, or if that tenant's are all in use: others do not
  // lose theirs to a crowd that has just come.
  std::optional<Id> next_to_go(int64_t now_us) const;

 private:
  struct Entry {
    std::string tenant;    // empty: nobody's
    int64_t until_us = 0;  // it was in use
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
