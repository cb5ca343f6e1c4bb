// How fast K and V come back from the files of a state directory that no daemon uses.
#pragma once

#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "bench/speed/samples.h"

namespace cascade::serve {

// All pages of a model, read as the daemon reads them, verified; against the same files read from
// the beginning to the end, and against memory copied to memory. Seconds for `bytes` each.
struct KvReadSpeed {
  double bytes = 0;  // of pages
  speed::Samples cold, warm;
  double file_bytes = 0;
  speed::Samples files_cold;
  double copy_bytes = 0;
  speed::Samples copy;
};

// `repeats` of each, in turn. Cold: the system was asked to forget the files before. One thread, as
// the daemon's. Errors: as Store; kNotFound if there are no pages.
Result<KvReadSpeed> measure_kv_read(const std::string& state_dir, int64_t repeats);

}  // namespace cascade::serve
