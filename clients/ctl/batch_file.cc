// Lines to requests: JSON becomes MessagePack, so that the protocol's own reader checks it.
#include "clients/ctl/batch_file.h"

#include <algorithm>

#include "base/json.h"
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
  // Arrays of numbers travel in frames of their own: a line cannot give them.
  template <class T>
  void numbers(std::string_view, const T&) {}
  bool has(const std::string& name) const {
    return std::ranges::find(names_, name) != names_.end();
  }

 private:
  std::vector<std::string> names_;
};

template <class M>
Status check_keys(const Json& object, const std::string& before) {
  FieldNames names;
  const M message;
  fields(names, message);
  for (const auto& [key, value] : object.items()) {
    if (!names.has(key)) return invalid_argument(before + key, "is no field of a request");
  }
  return {};
}

// `given` laid over `base`, by the way of their MessagePack.
Result<wire::GenerateRequest> overlay(const wire::GenerateRequest& base, const Json& given) {
  wire::Frames frames = wire::encode({{}, base});
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
    ASSIGN_OR_RETURN(const std::string query, required_string(given, "query"));
    given.erase("query");
    ASSIGN_OR_RETURN(base, compose_request(options, contexts, query));
  }
  RETURN_IF_ERROR(check_keys<wire::GenerateRequest>(given, ""));
  if (const auto sampling = given.find("sampling");
      sampling != given.end() && sampling->is_object()) {
    RETURN_IF_ERROR(check_keys<wire::SamplingParams>(*sampling, "sampling."));
  }
  return overlay(base, given);
}

Result<wire::GenerateRequest> request_of(const BatchLine& line, const GenerateOptions& options,
                                         const std::vector<ResolvedContext>& contexts) {
  const size_t valid = utf8_valid_prefix(line.text);
  if (valid != line.text.size()) {
    return invalid_argument("", "is not UTF-8 at byte " + std::to_string(valid));
  }
  if (line.text.front() != '{') {
    return compose_request(options, contexts, std::string(line.text));
  }
  ASSIGN_OR_RETURN(Json given, parse_json(line.text, ""));
  return from_json(std::move(given), options, contexts);
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
