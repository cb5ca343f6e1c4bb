// Puts together what a GGUF file says about its model.
#include "model/gguf/model.h"

#include <cstring>
#include <fstream>
#include <map>

#include "model/gguf/config.h"
#include "model/gguf/files.h"
#include "model/gguf/generation_config.h"
#include "model/gguf/tensors.h"
#include "model/gguf/tokenizer.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

// The chat templates: the default one, and others that are listed by name.
Result<ModelTemplates> templates_of(const GgufMetadata& metadata, const OrderedJson& tokens) {
  const std::string key(kTemplateKey);
  std::map<std::string, std::string> keys = {{"default", key}};
  ASSIGN_OR_RETURN(const auto* names, metadata.strings("tokenizer.chat_templates"));
  if (names != nullptr) {
    for (const std::string_view name : *names) {
      if (keys.size() == kModelTemplatesMax) break;
      keys.emplace(name, key + "." + std::string(name));
    }
  }
  ModelTemplates templates;
  for (const auto& [name, place] : keys) {
    if (!metadata.contains(place)) continue;
    templates.add(name, conversation_template(metadata.required_text(place), tokens));
  }
  return templates;
}

Result<ModelText> text_of(const GgufMetadata& metadata) {
  ASSIGN_OR_RETURN(Tokenizer tokenizer, gguf_tokenizer(metadata));
  ASSIGN_OR_RETURN(OrderedJson tokens, gguf_template_tokens(metadata));
  ASSIGN_OR_RETURN(ModelTemplates templates, templates_of(metadata, tokens));
  return ModelText{std::move(tokenizer), std::move(templates), std::move(tokens)};
}

// The model without its tensors, which are taken from `files` afterwards.
struct Description {
  ModelConfig config;
  GenerationConfig generation;
  ModelText text;
};

Result<Description> describe_model(const GgufFiles& files) {
  ASSIGN_OR_RETURN(ModelConfig config, gguf_model_config(files));
  ASSIGN_OR_RETURN(GenerationConfig generation, gguf_generation_config(files, config.vocab_size));
  ASSIGN_OR_RETURN(ModelText text, text_of(files.metadata()));
  const int32_t ids = text.tokenizer.id_count();
  if (ids > config.vocab_size) {
    return invalid_argument("tokenizer.ggml.tokens",
                            "has " + std::to_string(ids) + " ids, but token_embd.weight has " +
                                std::to_string(config.vocab_size) + " rows");
  }
  return Description{std::move(config), std::move(generation), std::move(text)};
}

// `result`; an error gets the file's name.
template <class T>
Result<T> of_file(Result<T> result, const fs::path& path) {
  if (!result.ok()) return in_gguf_file(std::move(result).error(), path);
  return result;
}

}  // namespace

bool is_gguf_file(const fs::path& path) {
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable)) return false;
  if (path.extension() == ".gguf") return true;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::memcmp(magic, "GGUF", sizeof magic) == 0;
}

Result<ModelFiles> read_gguf_model(const fs::path& path) {
  ASSIGN_OR_RETURN(GgufFiles files, GgufFiles::open(path));
  ASSIGN_OR_RETURN(Description described, of_file(describe_model(files), path));
  std::string name = files.model_name();
  ASSIGN_OR_RETURN(TensorFiles tensors, of_file(gguf_tensors(std::move(files)), path));
  return ModelFiles{std::move(name), std::move(described.config), std::move(described.generation),
                    std::move(described.text), std::move(tensors)};
}

Result<ModelText> read_gguf_text(const fs::path& path) {
  ASSIGN_OR_RETURN(const GgufFiles files, GgufFiles::open(path));
  return of_file(text_of(files.metadata()), path);
}

Result<ModelConfig> read_gguf_config(const fs::path& path) {
  ASSIGN_OR_RETURN(const GgufFiles files, GgufFiles::open(path));
  return of_file(gguf_model_config(files), path);
}

Result<TensorFiles> open_gguf_tensors(const fs::path& path) {
  ASSIGN_OR_RETURN(GgufFiles files, GgufFiles::open(path));
  return of_file(gguf_tensors(std::move(files)), path);
}

Error in_terms_of_gguf(Error error, const fs::path& path, std::string_view model_type) {
  if (auto name = gguf_tensor_name(error.field, model_type)) error.field = *std::move(name);
  return in_gguf_file(std::move(error), path);
}

}  // namespace cascade
