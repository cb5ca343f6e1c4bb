// The table of routes, and the look-up in it.
#include "wire/http/routes.h"

#include <array>

namespace cascade::http {
namespace {

constexpr std::array kRoutes = {
    Route{"GET", "/", Action::kDashboard},
    Route{"GET", "/dashboard.css", Action::kDashboard},
    Route{"GET", "/dashboard.js", Action::kDashboard},
    Route{"GET", "/health", Action::kHealth},
    Route{"GET", "/v1/health", Action::kHealth},
    Route{"GET", "/v1/models", Action::kListModels},
    Route{"GET", "/v1/models/{id}", Action::kGetModel},
    Route{"POST", "/v1/chat/completions", Action::kChat},
    Route{"POST", "/v1/completions", Action::kComplete},
    Route{"POST", "/v1/responses", Action::kRespond},
    Route{"GET", "/v1/responses/{id}", Action::kGetResponse},
    Route{"DELETE", "/v1/responses/{id}", Action::kDeleteResponse},
    Route{"GET", "/v1/responses/{id}/input_items", Action::kListInputItems},
    Route{"POST", "/v1/embeddings", Action::kEmbed},
    Route{"POST", "/tokenize", Action::kTokenize},
    Route{"POST", "/detokenize", Action::kDetokenize},
    Route{"POST", "/apply-template", Action::kApplyTemplate},
    Route{"GET", "/metrics", Action::kMetrics},
    Route{"GET", "/version", Action::kVersion},
    Route{"GET", "/v1/status", Action::kStatus},
    Route{"GET", "/v1/events", Action::kListEvents},
    Route{"GET", "/v1/chunks", Action::kListChunks},
    Route{"POST", "/v1/chunks", Action::kPutChunk},
    Route{"GET", "/v1/chunks/{id}", Action::kGetChunk},
    Route{"PATCH", "/v1/chunks/{id}", Action::kUpdateChunk},
    Route{"DELETE", "/v1/chunks/{id}", Action::kDeleteChunk},
};

// The segment in place of "{id}", or nullptr.
bool matches(std::string_view pattern, std::string_view path, std::string_view& id) {
  const std::string_view mark = "{id}";
  const size_t at = pattern.find(mark);
  if (at == std::string_view::npos) return pattern == path;
  const std::string_view tail = pattern.substr(at + mark.size());
  if (path.size() <= at + tail.size() || !path.starts_with(pattern.substr(0, at))) return false;
  if (!path.ends_with(tail)) return false;
  id = path.substr(at, path.size() - at - tail.size());
  return id.find('/') == std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

RouteMatch find_route(std::string_view method, std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  RouteMatch match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : kRoutes) {
    std::string_view id;
    if (!matches(route.path, path, id)) continue;
    if (route.method == wanted) {
      return {RouteMatch::Result::kFound, route.action, percent_decoded(id), ""};
    }
    match.result = RouteMatch::Result::kNoMethod;
    if (!match.allowed.empty()) match.allowed += ", ";
    match.allowed += route.method;
  }
  return match;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    pairs.emplace_back(percent_decoded(pair.substr(0, equals)), percent_decoded(value));
  }
  return pairs;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace cascade::http
