// How fast K and V are read back from the files of a state directory that no daemon uses.
#pragma once

#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "bench/speed/samples.h"

namespace cascade::serve {

// The time to read and verify all pages of a model as the daemon does it; for comparison, the time
// to read the same files from beginning to end, and to copy memory to memory. Samples are in
// seconds for the bytes that are named before them.
struct KvReadSpeed {
  double bytes = 0;  // of pages
  speed::Samples cold, warm;
  double file_bytes = 0;
  speed::Samples files_cold;
  double copy_bytes = 0;
  speed::Samples copy;
};

// Measures each of these `repeats` times, in turn. Before each cold measurement, the system was
// asked to drop the files from its cache. One thread, as in the daemon. Errors: those of Store;
// kNotFound if there are no pages.
Result<KvReadSpeed> measure_kv_read(const std::string& state_dir, int64_t repeats);

}  // namespace cascade::serve
