// A model in a GGUF file.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/model_files.h"

namespace cascade {

// Whether the file's name ends with ".gguf", or the file begins with the format's four letters.
bool is_gguf_file(const std::filesystem::path& path);

// Errors of all: as GgufFiles::open, gguf_model_config, gguf_generation_config, gguf_tokenizer and
// gguf_tensors, with the file's name.
Result<ModelFiles> read_gguf_model(const std::filesystem::path& path);
Result<ModelText> read_gguf_text(const std::filesystem::path& path);
Result<ModelConfig> read_gguf_config(const std::filesystem::path& path);
Result<TensorFiles> open_gguf_tensors(const std::filesystem::path& path);

// Turns an error about a tensor of a checkpoint into one about the tensor of the file, and names
// the file.
Error in_terms_of_gguf(Error error, const std::filesystem::path& path, std::string_view model_type);

}  // namespace cascade
