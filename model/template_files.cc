// Templates by their names, from files or from tokenizer_config.json.
#include "model/template_files.h"

#include <map>
#include <set>

#include "base/text_file.h"
#include "model/folder_file.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTemplateFileBytesMax = size_t{4} << 20;
constexpr const char* kDefault = "default";

using Sources = std::map<std::string, Result<std::string>>;

// A token in tokenizer_config.json: a string, or an object with "content".
std::optional<std::string> token_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) {
    return value["content"].get<std::string>();
  }
  return std::nullopt;
}

Result<std::string> read_source(const fs::path& path) {
  ASSIGN_OR_RETURN(std::string text, read_folder_file(path, kTemplateFileBytesMax));
  return without_byte_order_mark(std::move(text), path.filename().string());
}

Sources sources_in_files(const fs::path& dir) {
  Sources sources;
  auto source = read_source(dir / "chat_template.jinja");
  if (source.ok() || source.error().code != ErrorCode::kNotFound) {
    sources.emplace(kDefault, std::move(source));
  }
  std::error_code unreadable;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir / "additional_chat_templates", unreadable)) {
    if (entry.path().extension() == ".jinja") files.insert(entry.path());
    if (files.size() == kModelTemplatesMax) break;
  }
  for (const fs::path& file : files) sources.emplace(file.stem().string(), read_source(file));
  return sources;
}

Sources sources_in(const Json& config) {
  Sources sources;
  const auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (!config.is_object() || found == config.end() || found->is_null()) return sources;
  if (found->is_string()) {
    sources.emplace(kDefault, found->get<std::string>());
    return sources;
  }
  if (found->is_object() && found->size() <= kModelTemplatesMax) {
    for (const auto& [name, source] : found->items()) {
      sources.emplace(name, required_string(*found, name));
    }
  }
  const bool is_list = found->is_array() && found->size() <= kModelTemplatesMax;
  for (size_t i = 0; is_list && i < found->size(); ++i) {
    const Json& entry = (*found)[i];
    auto name = required_string(entry, "name");
    auto source = required_string(entry, "template");
    if (name.ok()) sources.insert_or_assign(*name, std::move(source));
  }
  if (sources.empty()) {
    sources.emplace(kDefault, invalid_argument("chat_template",
                                               "must be a text, or a list of 1 to 16 objects "
                                               "with \"name\" and \"template\""));
  }
  return sources;
}

}  // namespace

OrderedJson template_tokens(const Json& config) {
  OrderedJson tokens = OrderedJson::object();
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token",
                          "cls_token", "mask_token"}) {
    if (!config.is_object() || !config.contains(key)) continue;
    if (const auto text = token_text(config[key])) tokens[key] = *text;
  }
  return tokens;
}

ModelTemplates read_templates(const fs::path& dir, const Json& config, const OrderedJson& tokens) {
  Sources sources = sources_in_files(dir);
  if (sources.empty()) sources = sources_in(config);
  ModelTemplates templates;
  for (const auto& [name, source] : sources) {
    templates.add(name, conversation_template(source, tokens));
  }
  return templates;
}

Result<ModelTemplates> read_template_file(const fs::path& file, const OrderedJson& tokens) {
  ASSIGN_OR_RETURN(const std::string text, read_text_file(file, kTemplateFileBytesMax));
  auto loaded = conversation_template(text, tokens);
  if (!loaded.ok()) return invalid_argument(file.string(), loaded.error().message);
  ModelTemplates templates;
  templates.add(kDefault, std::move(loaded));
  return templates;
}

}  // namespace cascade
