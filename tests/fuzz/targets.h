// The functions that fuzzers call. Each gives arbitrary bytes to one decoder of foreign data, and
// to the code that works with the decoder's result. A broken promise of a decoder ends the process.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cascade::fuzz {

using Bytes = std::span<const uint8_t>;

// Each function returns whether the input is accepted as what it should be; if not, an error says
// why. To be called on one thread.

// The frames of a message, each after its length (32 bits, little-endian), as in tests/vectors.
bool read_frames(Bytes input);
// The body of a request to any route of the HTTP API; it is also used as a model's answer and as
// the data that a client had kept with an output.
bool read_openai(Bytes input);
// A schema, or "parts " and parts; after a NUL, the bytes that choose the tokens of an answer.
bool read_grammar(Bytes input);
// The data that a connection sends: requests, one after the other. True: all are whole.
bool read_http(Bytes input);
// A model in a GGUF file.
bool read_gguf(Bytes input);
// model.safetensors; or, if it begins with '{', model.safetensors.index.json beside one shard.
bool read_safetensors(Bytes input);
// tokenizer.json, and after a NUL a text.
bool read_tokenizer(Bytes input);
// A chat template, and after a NUL the text of a message.
bool read_template(Bytes input);
// config.json, and after a NUL generation_config.json.
bool read_config(Bytes input);

struct Target {
  std::string_view name;
  bool (*read)(Bytes input);
};

inline constexpr std::array<Target, 9> kTargets = {{
    {"frames", read_frames},
    {"openai", read_openai},
    {"grammar", read_grammar},
    {"http", read_http},
    {"gguf", read_gguf},
    {"safetensors", read_safetensors},
    {"tokenizer", read_tokenizer},
    {"template", read_template},
    {"config", read_config},
}};

}  // namespace cascade::fuzz
