// Where the source tree and the built programs are.
#pragma once

#include <filesystem>

namespace cascade::testing {

// Both are absolute. Only places.cc is compiled with them, so that every other source gives the
// same object in every clone, and ccache finds it.

// The root of the source tree.
std::filesystem::path source_dir();

// The folder of cascaded, cascadectl and the others.
std::filesystem::path program_dir();

}  // namespace cascade::testing
