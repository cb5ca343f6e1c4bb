// Small GGUF files: some are right, and there is one for each way in which files have broken
// readers.
#pragma once

#include <string>
#include <vector>

namespace cascade::testing {

struct GgufSeed {
  std::string name;
  std::string file;
  // The field of the error when the file is read as a model; empty if nothing is wrong.
  std::string field;
  // A part of the message.
  std::string says;
};

// The same seeds at every call. They are also committed in tests/model/data/gguf, where the fuzzer
// finds them; a test compares the two.
std::vector<GgufSeed> gguf_seeds();

}  // namespace cascade::testing
