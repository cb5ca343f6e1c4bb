// Lines to requests: JSON becomes MessagePack, so that the protocol's own reader checks it.
#include "clients/ctl/batch_file.h"

#include <algorithm>

#include "base/json.h"
#include "base/suggestion.h"
#include "base/utf8.h"
#include "wire/frames.h"
#include "wire/request_fields.h"

namespace cascade::ctl {
namespace {

// The names of a message's fields.
class FieldNames {
 public:
  template <class T>
  void required(std::string_view name, const T&) {
    names_.emplace_back(name);
  }
  template <class T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  // Arrays of numbers are sent in frames of their own, so a line cannot give them.
  template <class T>
  void numbers(std::string_view, const T&) {}
  bool has(const std::string& name) const {
    return std::ranges::find(names_, name) != names_.end();
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

constexpr char kForm[] =
    R"(; a line is a question as text, or {"query": "a question"} with further fields)";

template <class M>
FieldNames names_of() {
  FieldNames names;
  const M message;
  fields(names, message);
  return names;
}

// Says what to write in place of a key that a request does not have.
std::string instead_of(const std::string& key) {
  const std::vector<std::string> of_sampling = names_of<wire::SamplingParams>().all();
  const auto in_sampling = [](const std::string& name) {
    return "\"sampling\": {\"" + name + "\": …}";
  };
  if (std::ranges::find(of_sampling, key) != of_sampling.end()) {
    return "is a field of sampling: " + in_sampling(key);
  }
  if (key == "system") {
    return "is not a field of a request; the option --system holds for all lines, and messages "
           "may have their own: \"messages\": [{\"role\": \"system\", \"content\": …}, …]";
  }
  std::vector<std::string> names = names_of<wire::GenerateRequest>().all();
  names.emplace_back("query");
  const std::string none = "is not a field of a request";
  if (const std::string meant = did_you_mean(key, names); !meant.empty()) return none + meant;
  const auto meant = closest_word(key, of_sampling);
  return none + (meant ? "; did you mean " + in_sampling(*meant) + "?" : kForm);
}

Status check_keys(const Json& given) {
  const FieldNames names = names_of<wire::GenerateRequest>();
  for (const auto& [key, value] : given.items()) {
    if (!names.has(key)) return invalid_argument(key, instead_of(key));
  }
  const auto sampling = given.find("sampling");
  if (sampling == given.end() || !sampling->is_object()) return {};
  const FieldNames of_sampling = names_of<wire::SamplingParams>();
  for (const auto& [key, value] : sampling->items()) {
    if (of_sampling.has(key)) continue;
    return invalid_argument("sampling." + key,
                            "is not a field of a request" + did_you_mean(key, of_sampling.all()));
  }
  return {};
}

// Whether the line is one array of requests, or the beginning of one.
bool is_array(std::string_view line) {
  if (line.find_last_not_of(" \t") == line.find('[')) return line.find('[') != line.npos;
  if (line.find_first_not_of(" \t") != line.find('[')) return false;
  const auto given = parse_json(line, "");
  return given.ok() && given->is_array() && !given->empty() && given->front().is_object();
}

// Lays `given` over `base`, both as MessagePack.
Result<wire::GenerateRequest> overlay(const wire::GenerateRequest& base, const Json& given) {
  ASSIGN_OR_RETURN(wire::Frames frames, wire::encode({{}, base}));
  constexpr size_t kBody = 2;
  Json merged = Json::from_msgpack(frames[kBody], /*strict=*/true, /*allow_exceptions=*/false);
  CHECK(merged.is_object());
  merged.merge_patch(given);
  frames[kBody].clear();
  Json::to_msgpack(merged, frames[kBody]);
  ASSIGN_OR_RETURN(wire::Envelope envelope, wire::decode(frames));
  return std::get<wire::GenerateRequest>(std::move(envelope.message));
}

Result<wire::GenerateRequest> from_json(Json given, const GenerateOptions& options,
                                        const std::vector<ResolvedContext>& contexts) {
  wire::GenerateRequest base = options.params;
  if (given.contains("query")) {
    if (!given["query"].is_string()) {
      return invalid_argument(
          "query", std::string("must be a text, is ") + given["query"].type_name() + kForm);
    }
    const auto query = given["query"].get<std::string>();
    given.erase("query");
    ASSIGN_OR_RETURN(base, compose_request(options, contexts, query));
  }
  RETURN_IF_ERROR(check_keys(given));
  const bool composed = !base.chunks.empty() || base.prompt.has_value();
  const bool own =
      given.contains("prompt") || given.contains("messages") || given.contains("chunks");
  if (!composed && !own) return invalid_argument("query", std::string("is missing") + kForm);
  return overlay(base, given);
}

Result<wire::GenerateRequest> request_of(const BatchLine& line, const GenerateOptions& options,
                                         const std::vector<ResolvedContext>& contexts) {
  const size_t valid = utf8_valid_prefix(line.text);
  if (valid != line.text.size()) {
    return invalid_argument("", "is not UTF-8 at byte " + std::to_string(valid));
  }
  if (is_array(line.text)) {
    return invalid_argument("", std::string("begins an array") + kForm);
  }
  if (line.text.front() != '{') {
    return compose_request(options, contexts, std::string(line.text));
  }
  auto given = parse_json(line.text, "");
  if (!given.ok()) {
    return invalid_argument(given.error().field, given.error().message + kForm);
  }
  return from_json(*std::move(given), options, contexts);
}

}  // namespace

std::vector<BatchLine> batch_lines(std::string_view text) {
  std::vector<BatchLine> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

Result<wire::GenerateRequest> batch_request(const BatchLine& line, const GenerateOptions& options,
                                            const std::vector<ResolvedContext>& contexts) {
  Result<wire::GenerateRequest> request = request_of(line, options, contexts);
  if (request.ok()) return request;
  Error error = std::move(request).error();
  const std::string where = "line " + std::to_string(line.number);
  error.field = error.field.empty() ? where : where + ", " + error.field;
  return error;
}

}  // namespace cascade::ctl
