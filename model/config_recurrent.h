// The part of config.json that describes layers with a recurrent state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"
#include "model/config_family.h"

namespace cascade {

// The channels of a head are whole groups of eight, as kernels take them. All limits are several
// times those of published models.
inline constexpr int64_t kScanDimStep = 8;
inline constexpr int64_t kScanDimMax = 512;
inline constexpr int64_t kExpandMax = 64;  // mamba_expand
// The state of one layer of a sequence takes at most this. Published models have 16 KiB to somewhat
// more than 4 MiB.
inline constexpr size_t kLayerStateBytesMax = size_t{64} << 20;

// `config` with the values that the family assumes for keys that are left out, and with the usual
// names for keys that the family names otherwise.
Json with_recurrent_defaults(const Json& config, const ModelFamily& family);
// The name that `config`, the file, has for a key that with_recurrent_defaults() renamed. Other
// keys are returned as they are. The result lives as long as `key`.
std::string_view own_key(const Json& config, const ModelFamily& family, std::string_view key);

// Fills out.recurrent and, if some layers are recurrent, out.attention_shapes; such layers get
// LayerRope::kNone. Precondition: read_layers() has filled `out`. Errors: as parse_model_config.
Status read_recurrent(const Json& config, const ModelFamily& family, ModelConfig& out);

}  // namespace cascade
