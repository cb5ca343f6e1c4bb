// Pages on disk that are read part by part while sequences run: where they are, until they are
// given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/hash.h"
#include "persist/kv_format.h"

namespace cascade {

// What a reader needs of a page. Does not change.
struct LeasedPage {
  Digest key;
  int64_t file = 0;     // its number
  uint64_t offset = 0;  // of the first part in the file
  std::vector<KvPart> parts;
};

// The store keeps a leased page where it is. Leases are numbers, as pages of memory are. Any
// thread.
class PageLeases {
 public:
  // Returns the number of the lease. Numbers of leases that were released are used again, so no job
  // may have a lease when it is released.
  uint32_t add(LeasedPage page);
  // Does nothing if there is no such lease.
  void release(uint32_t lease);
  void release_all();

  // nullptr if there is no such lease.
  std::shared_ptr<const LeasedPage> find(uint32_t lease) const;
  bool has_file(int64_t number) const;
  std::vector<Digest> keys() const;
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const LeasedPage>> leases_;  // by number; nullptr: free
  std::vector<uint32_t> free_;
  std::map<int64_t, size_t> files_;  // how many leased pages a file has
};

}  // namespace cascade
