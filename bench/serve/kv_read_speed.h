// How fast K and V are read back from the files of a state directory that no daemon uses.
#pragma once

#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "bench/speed/samples.h"

namespace cascade::serve {

// All pages of a model, read and verified as the daemon does it. For comparison, the same files
// read from beginning to end, and memory copied to memory. Each in seconds for `bytes`.
struct KvReadSpeed {
  double bytes = 0;  // of pages
  speed::Samples cold, warm;
  double file_bytes = 0;
  speed::Samples files_cold;
  double copy_bytes = 0;
  speed::Samples copy;
};

// Measures each `repeats` times, in turn. Cold: the system was asked before to forget the files.
// One thread, as in the daemon. Errors: those of Store; kNotFound if there are no pages.
Result<KvReadSpeed> measure_kv_read(const std::string& state_dir, int64_t repeats);

}  // namespace cascade::serve
