// Which paths and methods the HTTP gateway has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cascade::http {

enum class Action {
  kPreflight,  // a browser asks whether a page may make a request; for any path
  kDashboard,
  kHealth,
  kListModels,
  kGetModel,
  kChat,
  kComplete,
  kRespond,
  kGetResponse,
  kDeleteResponse,
  kListInputItems,
  kEmbed,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
  kMetrics,
  kVersion,
  kStatus,
  kListEvents,
  kListChunks,
  kPutChunk,
  kGetChunk,
  kUpdateChunk,
  kDeleteChunk,
};

struct Route {
  std::string_view method;
  std::string_view path;  // "{id}" stands for one segment
  Action action;
};

std::span<const Route> routes();

struct RouteMatch {
  enum class Result { kFound, kNoPath, kNoMethod } result = Result::kNoPath;
  Action action = Action::kHealth;
  std::string id;       // the segment in place of "{id}", percent-decoded
  std::string allowed;  // kNoMethod: the methods of the path, for the Allow header
};

// `path` has no query. A HEAD request is answered as a GET, without its body.
RouteMatch find_route(std::string_view method, std::string_view path);

// "a=1&b=x%20y" as pairs, in order.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

// "%41" -> "A"; anything that is not an escape stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace cascade::http
