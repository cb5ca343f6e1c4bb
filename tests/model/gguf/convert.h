// Converts Hugging Face model folders to GGUF files, and writes the same numbers as a folder again,
// for comparisons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/config.h"
#include "tests/model/gguf/writer.h"

namespace cascade::testing {

// A tensor of a folder, as f32.
struct PlainTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using PlainTensors = std::map<std::string, PlainTensor>;

// All tensors of the folder's safetensors files.
PlainTensors read_tensors(const std::filesystem::path& folder);

// The bytes of `values` in a type. Q8_0, Q5_0 and Q4_0 round to nearest; their scale is the largest
// value of each 32. tests/model/gguf/k_blocks.h says how the K types round.
// Precondition: the values are whole blocks.
std::string encode_values(const std::vector<float>& values, GgmlType type);
// The values that these bytes encode.
std::vector<float> decode_values(const std::string& bytes, GgmlType type);

// The tensors as a file holds them: matrices in `type`, vectors in F32.
PlainTensors rounded(const PlainTensors& tensors, GgmlType type);

// Writes `to`: the JSON files of `from`, and these tensors as F32.
void write_folder(const std::filesystem::path& from, const PlainTensors& tensors,
                  const std::filesystem::path& to);

// The tensors as a file has them, all but the order of Q's and K's rows, under the names that
// gguf_tensor_name() takes.
PlainTensors file_tensors(const ModelConfig& config, const PlainTensors& tensors);

// Writes the keys of the model, its tokenizer and template as converters do. A tokenizer that is
// not byte-level BPE of the Qwen2 kind is replaced by one of bytes.
void write_metadata(const std::filesystem::path& folder, GgufWriter& out);
// Writes the tensors in the order of their names, those with an index in [begin, end).
void write_tensors(const std::filesystem::path& folder, const PlainTensors& tensors, GgmlType type,
                   GgufWriter& out, size_t begin = 0, size_t end = SIZE_MAX);

// The type for the matrix with this name in the checkpoint.
using TypeOf = std::function<GgmlType(const std::string& name)>;
// Writes the whole model to the file `to`.
void write_gguf(const std::filesystem::path& folder, const PlainTensors& tensors,
                const TypeOf& type_of, const std::filesystem::path& to);
void write_gguf(const std::filesystem::path& folder, const PlainTensors& tensors, GgmlType type,
                const std::filesystem::path& to);

}  // namespace cascade::testing
