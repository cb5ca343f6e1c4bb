// References, and the names of places in a schema.
#include "model/grammar/schema_document.h"

#include <algorithm>

#include "base/utf8.h"
#include "model/grammar/schema.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

// The longest JSON pointer in a message, in bytes.
constexpr size_t kPointerBytesMax = 200;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

// The beginning of a name in a message.
std::string shown(std::string_view name) {
  return utf8_replace_malformed(name.substr(0, kPointerBytesMax));
}

// A token of a JSON pointer in a URI fragment (RFC 6901, section 6).
std::string unescaped(std::string_view token) {
  std::string plain;
  for (size_t i = 0; i < token.size(); ++i) {
    const auto high = i + 2 < token.size() ? hex_digit(token[i + 1]) : std::nullopt;
    const auto low = i + 2 < token.size() ? hex_digit(token[i + 2]) : std::nullopt;
    if (token[i] == '%' && high && low) {
      plain += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else if (token[i] == '~' && i + 1 < token.size()) {
      plain += token[++i] == '1' ? '/' : '~';
    } else {
      plain += token[i];
    }
  }
  return plain;
}

const OrderedJson* child(const OrderedJson& json, const std::string& token) {
  if (json.is_object()) return keyword(json, token.c_str());
  if (!json.is_array() || token.empty() || token.size() > 6) return nullptr;
  if (!std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; })) return nullptr;
  const size_t index = std::stoul(token);
  return index < json.size() ? &json[index] : nullptr;
}

}  // namespace

SchemaDocument::SchemaDocument(const OrderedJson& document, std::string_view field, size_t& work)
    : root_(document), field_(field), work_(work), entered_(&document) {}

void SchemaDocument::enter(const Conjunction& conjunction) {
  if (!conjunction.parts.empty()) entered_ = conjunction.parts.front().schema;
}

Status SchemaDocument::spend(size_t work) {
  work_ -= std::min(work, work_);
  if (work_ > 0) return {};
  return error(*entered_, "",
               "the schema is too complex: to compile it up to here takes more than the limit of " +
                   std::to_string(kGrammarWorkMax) + " steps");
}

std::string SchemaDocument::pointer(const OrderedJson& schema) const {
  std::string path;
  const OrderedJson* at = &schema;
  while (at != &root_ && path.size() < kPointerBytesMax) {
    const auto place = places_.find(at);
    if (place == places_.end()) break;
    path = "/" + shown(place->second.step) + path;
    at = place->second.parent;
  }
  return (at == &root_ ? "#" : "...") + path;
}

Error SchemaDocument::error(const OrderedJson& schema, std::string_view keyword,
                            const std::string& what) const {
  return invalid_argument(
      field_, pointer(schema) + ": " + shown(keyword) + (keyword.empty() ? "" : ": ") + what);
}

const OrderedJson* SchemaDocument::inner(const OrderedJson& parent, std::string step,
                                         const OrderedJson& schema) {
  places_.try_emplace(&schema, Place{&parent, std::move(step)});
  return &schema;
}

// Checks the schemas that `schema` leads to, one path after another. A path that comes back to one
// of its own schemas is an error: expanding that schema would never end.
Status SchemaDocument::check_with_references(const OrderedJson& schema) {
  struct Step {
    const OrderedJson* schema;
    std::vector<const OrderedJson*> left;
  };
  std::vector<Step> way;
  const auto begin = [&](const OrderedJson* next) -> Status {
    const auto [progress, added] = checked_.try_emplace(next, Progress::kBegun);
    if (!added && progress->second == Progress::kDone) return {};
    if (!added) return error(*next, "", "leads back to itself by references");
    RETURN_IF_ERROR(check(*next));
    ASSIGN_OR_RETURN(std::vector<const OrderedJson*> left, in_place(*next));
    way.push_back({next, std::move(left)});
    return {};
  };
  RETURN_IF_ERROR(begin(&schema));
  while (!way.empty()) {
    if (way.back().left.empty()) {
      checked_[way.back().schema] = Progress::kDone;
      way.pop_back();
      continue;
    }
    const OrderedJson* next = way.back().left.back();
    way.back().left.pop_back();
    RETURN_IF_ERROR(begin(next));
  }
  return {};
}

// The schemas that hold, or may hold, for the same value as `schema`, and the one that `not`
// denies.
Result<std::vector<const OrderedJson*>> SchemaDocument::in_place(const OrderedJson& schema) {
  std::vector<const OrderedJson*> all;
  if (const OrderedJson* denied = keyword(schema, "not")) {
    all.push_back(inner(schema, "not", *denied));
  }
  for (const char* name : {"allOf", "anyOf", "oneOf"}) {
    const OrderedJson* list = keyword(schema, name);
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      all.push_back(inner(schema, std::string(name) + "/" + std::to_string(i), (*list)[i]));
    }
  }
  RETURN_IF_ERROR(spend(all.size() + 1));
  if (keyword(schema, "$ref") != nullptr) {
    ASSIGN_OR_RETURN(const OrderedJson* target, resolve(schema));
    all.push_back(target);
  }
  return all;
}

Status SchemaDocument::check(const OrderedJson& schema) {
  RETURN_IF_ERROR(spend(schema.size() + 1));
  const Status checked = check_keywords(schema, &schema == &root_);
  if (checked.ok()) return {};
  return error(schema, checked.error().field, checked.error().message);
}

Result<const OrderedJson*> SchemaDocument::resolve(const OrderedJson& schema) {
  const auto& reference = keyword(schema, "$ref")->get_ref<const std::string&>();
  RETURN_IF_ERROR(spend(reference.size() + 1));
  if (reference != "#" && !reference.starts_with("#/")) {
    return error(schema, "$ref", "must be # or begin with #/: only this schema is known");
  }
  const OrderedJson* at = &root_;
  for (size_t begin = 2; begin <= reference.size();) {
    const size_t end = std::min(reference.find('/', begin), reference.size());
    const std::string token = unescaped(std::string_view(reference).substr(begin, end - begin));
    RETURN_IF_ERROR(spend(at->size()));
    const OrderedJson* next = child(*at, token);
    if (next == nullptr) return error(schema, "$ref", "names nothing in this schema");
    at = inner(*at, token, *next);
    begin = end + 1;
  }
  return at;
}

Result<bool> SchemaDocument::expand_part(const SchemaPart& part, Expansion& expansion) {
  const OrderedJson& schema = *part.schema;
  std::vector<SchemaPart>& all = expansion.all.parts;
  RETURN_IF_ERROR(check_with_references(schema));
  RETURN_IF_ERROR(spend(all.size() + 1));
  if (schema.is_boolean()) return schema == true;
  // A schema that is already in `all` adds nothing, whatever `done` says about its keywords.
  if (std::ranges::find(all, &schema, &SchemaPart::schema) != all.end()) return true;
  if (all.size() >= kPartsMax) {
    return error(schema, "",
                 "more than " + std::to_string(kPartsMax) + " schemas hold together here");
  }
  all.push_back({&schema, part.done | SchemaPart::kReferences});
  if ((part.done & SchemaPart::kReferences) != 0) return true;
  if (const OrderedJson* denied = keyword(schema, "not")) {
    expansion.denials.push_back({inner(schema, "not", *denied)});
  }
  if (const OrderedJson* list = keyword(schema, "allOf")) {
    for (size_t i = list->size(); i > 0; --i) {
      const std::string step = "allOf/" + std::to_string(i - 1);
      expansion.parts.push_back({inner(schema, step, (*list)[i - 1])});
    }
  }
  if (keyword(schema, "$ref") != nullptr) {
    ASSIGN_OR_RETURN(const OrderedJson* target, resolve(schema));
    expansion.parts.push_back({target});
  }
  return true;
}

Result<bool> SchemaDocument::expand_denial(const Denial& denial, Expansion& expansion) {
  const OrderedJson& schema = *denial.schema;
  std::vector<Denial>& all = expansion.all.denials;
  RETURN_IF_ERROR(check_with_references(schema));
  RETURN_IF_ERROR(spend(all.size() + 1));
  if (std::ranges::find(all, denial) != all.end()) return true;
  if (all.size() + expansion.denials.size() >= kPartsMax) {
    return error(schema, "",
                 "more than " + std::to_string(kPartsMax) + " schemas are denied together here");
  }
  if (!denial.keyword.empty()) {
    RETURN_IF_ERROR(deny(denial, expansion));
    return true;
  }
  if (schema.is_boolean()) return schema == false;
  ASSIGN_OR_RETURN(const std::vector<Denial> ways, ways_to_deny(schema));
  if (ways.empty()) return false;
  if (ways.size() == 1) {
    RETURN_IF_ERROR(deny(ways.front(), expansion));
  } else {
    all.push_back(denial);
  }
  return true;
}

Result<std::optional<Conjunction>> SchemaDocument::expand(const Conjunction& conjunction) {
  Expansion expansion;
  expansion.parts.assign(conjunction.parts.rbegin(), conjunction.parts.rend());
  expansion.denials.assign(conjunction.denials.rbegin(), conjunction.denials.rend());
  while (!expansion.parts.empty() || !expansion.denials.empty()) {
    bool possible = true;
    if (!expansion.parts.empty()) {
      const SchemaPart part = expansion.parts.back();
      expansion.parts.pop_back();
      ASSIGN_OR_RETURN(possible, expand_part(part, expansion));
    } else {
      const Denial denial = expansion.denials.back();
      expansion.denials.pop_back();
      ASSIGN_OR_RETURN(possible, expand_denial(denial, expansion));
    }
    if (!possible) return std::optional<Conjunction>();
  }
  return std::optional(std::move(expansion.all));
}

const OrderedJson* SchemaDocument::property(const OrderedJson& schema, const std::string& name) {
  const OrderedJson* properties = keyword(schema, "properties");
  if (properties == nullptr) return nullptr;
  const auto [names, added] = properties_.try_emplace(&schema);
  if (added) {
    for (const auto& [key, value] : properties->items()) names->second.emplace(key, &value);
  }
  const auto found = names->second.find(name);
  if (found == names->second.end()) return nullptr;
  return inner(schema, "properties/" + name, *found->second);
}

}  // namespace cascade
