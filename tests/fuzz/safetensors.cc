// safetensors files, and indexes of shards.
#include "model/safetensors.h"

#include <optional>

#include "tests/fuzz/input.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/model_use.h"

namespace cascade::fuzz {
namespace {

// Writes the only shard that indexes can name: a tensor "a" of two values.
void write_shard(const InputFolder& folder) {
  const std::string table = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string file(1, static_cast<char>(table.size()));
  file.resize(sizeof(uint64_t), '\0');
  (void)folder.write("model-00001-of-00002.safetensors", file + table + "12345678");
}

bool read_index(std::string_view index) {
  static const InputFolder folder;
  static const bool written = (write_shard(folder), true);
  CHECK(written);
  (void)folder.write("model.safetensors.index.json", index);
  const auto tensors = TensorFiles::open(folder.path());
  if (!is_ok(tensors)) return false;
  for (const std::string& name : tensors->names("")) CHECK(tensors->contains(name));
  const std::vector<int64_t> shape = {2};
  const auto found = tensors->find("a", shape);
  if (is_ok(found)) read_values(*found, 1, 2);
  return true;
}

bool read_file(Bytes input) {
  static const InputFolder folder;
  const auto header = parse_safetensors_header(input);
  (void)folder.write("model.safetensors", text_of(input));
  const auto tensors = TensorFiles::open(folder.path());
  CHECK(is_ok(header) == is_ok(tensors));
  if (!header.ok()) {
    CHECK(!header.error().field.empty());
    return false;
  }
  for (const TensorEntry& entry : *header) {
    const auto found = tensors->find(entry.name, entry.shape);
    if (!is_ok(found)) continue;
    const uint64_t values = found->bytes.size() / describe(found->type).block_bytes;
    read_values(*found, 1, values);
  }
  return true;
}

}  // namespace

bool read_safetensors(Bytes input) {
  const std::string_view text = text_of(input);
  return text.starts_with('{') ? read_index(text) : read_file(input);
}

}  // namespace cascade::fuzz
