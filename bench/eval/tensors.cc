// tensors: lists what a GGUF file holds, with digests that other readers of the format give too.
#include "bench/eval/commands.h"
#include "bench/eval/json_lines.h"
#include "model/gguf/files.h"
#include "model/gguf/tensor_digest.h"

namespace cascade::eval {

Status tensors(const TensorsOptions& options) {
  ASSIGN_OR_RETURN(const GgufFiles files, GgufFiles::open(options.model));
  for (const GgufFiles::Part& part : files.parts()) {
    for (const GgufTensor& tensor : part.header.tensors) {
      const auto bytes = part.file.bytes().subspan(tensor.begin, tensor.end - tensor.begin);
      RETURN_IF_ERROR(write_line({{"name", tensor.name},
                                  {"shape", tensor.dimensions},
                                  {"type", to_string(tensor.type)},
                                  {"sha256", digest_of_values(tensor, bytes).hex()}}));
    }
  }
  return {};
}

}  // namespace cascade::eval
