// Small GGUF files: some right, the others one for each way in which files have broken readers.
#pragma once

#include <string>
#include <vector>

namespace cascade::testing {

struct GgufSeed {
  std::string name;
  std::string file;
  // What reading it as a model says: the field of the error; empty if nothing is wrong.
  std::string field;
  // A part of the message.
  std::string says;
};

// The same at every call. They are committed in tests/model/data/gguf, too, where the fuzzer finds
// them; a test compares.
std::vector<GgufSeed> gguf_seeds();

}  // namespace cascade::testing
