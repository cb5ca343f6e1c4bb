// The tensors of GGUF files under the names that checkpoints of Hugging Face have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/gguf/files.h"
#include "model/safetensors.h"

namespace cascade {

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; nullopt for a name that no
// supported architecture has. `architecture`: general.architecture, or the model_type of its
// configuration.
std::optional<std::string> checkpoint_tensor_name(std::string_view gguf_name,
                                                  std::string_view architecture);
// The inverse; nullopt for a name that no tensor of a GGUF file has.
std::optional<std::string> gguf_tensor_name(std::string_view checkpoint_name,
                                            std::string_view architecture);

// Files of some architectures (llama, granite and smollm3, for instance) order the rows of Q and K,
// in each head, so that rotary pairs are neighbours: file row 2 i + j of a head is row j * head_dim
// / 2 + i of the checkpoint. These tensors are marked (Tensor::interleaved_head_rows). The call
// uses up `files`. Errors: kUnsupported, field = tensor, for a name that we do not know;
// kInvalidArgument, field = key or tensor, if head counts and the tensors' rows do not fit.
Result<TensorFiles> gguf_tensors(GgufFiles files);

}  // namespace cascade
