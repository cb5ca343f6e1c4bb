// The bytes of a connection: the same requests result, in whatever pieces the bytes arrive.
#include <optional>
#include <vector>

#include "actors/http/request_parser.h"
#include "tests/fuzz/input.h"
#include "wire/frames.h"
#include "wire/http/api_keys.h"
#include "wire/http/host_rules.h"
#include "wire/http/routes.h"
#include "wire/openai/chunk_routes.h"
#include "wire/openai/responses.h"
#include "wire/openai/status_routes.h"

namespace cascade::fuzz {
namespace {

struct Conversation {
  std::vector<http::Request> requests;
  std::optional<http::HttpError> error;
  bool whole = true;  // no started request is incomplete
};

// Reads as a connection does; the bytes arrive `piece` at a time.
Conversation converse(std::string_view bytes, size_t piece) {
  using State = http::RequestParser::State;
  Conversation result;
  http::RequestParser parser;
  const auto go_on = [&](std::optional<http::HttpError> error) {
    while (!error && parser.state() != State::kHead) {
      const State before = parser.state();
      if (before == State::kBody) error = parser.read_body();
      CHECK(parser.body_bytes() <= http::kBodyBytesMax + http::kHeadBytesMax + bytes.size());
      if (error || parser.state() == State::kBody) break;
      result.requests.push_back(parser.take());
      error = parser.next();
    }
    return error;
  };
  for (size_t begin = 0; begin < bytes.size() && !result.error; begin += piece) {
    result.error = go_on(parser.feed(bytes.substr(begin, piece)));
  }
  result.whole = !result.error && !parser.begun();
  return result;
}

bool same(const http::Request& a, const http::Request& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.host == b.host &&
         a.origin == b.origin && a.key == b.key && a.http_1_0 == b.http_1_0 &&
         a.keep_alive == b.keep_alive && a.expects_continue == b.expects_continue &&
         a.body == b.body;
}

template <class M>
void check_sendable(const Result<M>& message) {
  if (!is_ok(message)) return;
  const auto read = wire::decode(*wire::encode({{}, *message}));
  CHECK(read.ok());
}

void look_at(const http::Request& request) {
  CHECK(!request.method.empty() && request.path.starts_with('/'));
  CHECK(request.body.size() <= http::kBodyBytesMax);
  for (const bool any_address : {false, true}) {
    const http::HostRules rules = http::host_rules({"example.org"}, any_address);
    (void)http::host_allowed(rules, request.host);
    (void)http::origin_allowed(rules, request.origin, request.host);
  }
  const http::RouteMatch match = http::find_route(request.method, request.path);
  (void)openai::output_id_of(match.id);
  const auto query = http::parse_query(request.query);
  check_sendable(openai::decode_chunk_list(query));
  check_sendable(openai::decode_event_list(query));
  Chunk output;
  output.id = "output_0123456789abcdef0123456789abcdef";
  (void)is_ok(openai::encode_input_items(output, query));
  const auto keys = http::ApiKeys::parse(request.body);
  if (is_ok(keys)) (void)keys->tenant_of(request.key);
}

}  // namespace

bool read_http(Bytes input) {
  const std::string_view bytes = text_of(input);
  const Conversation at_once = converse(bytes, bytes.size());
  // The first byte determines the size of all pieces, so mutations change the size, too.
  const size_t piece = bytes.empty() ? 1 : static_cast<uint8_t>(bytes.front()) % 61 + 1;
  const Conversation in_pieces = converse(bytes, piece);
  CHECK(at_once.error.has_value() == in_pieces.error.has_value());
  CHECK(at_once.requests.size() == in_pieces.requests.size());
  for (size_t i = 0; i < at_once.requests.size(); ++i) {
    CHECK(same(at_once.requests[i], in_pieces.requests[i]));
    look_at(at_once.requests[i]);
  }
  return at_once.whole && !at_once.requests.empty();
}

}  // namespace cascade::fuzz
