// Boost.Beast parses. Requests that Beast would accept, although they must be refused, are refused
// before it sees them.
#include "actors/http/request_parser.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/utf8.h"
#include "wire/http/host_rules.h"
#include "wire/http/routes.h"

namespace cascade::http {
namespace {

namespace beast_http = boost::beast::http;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
// A chunked body ends with at least "0\r\n\r\n". Beast 1.74 asserts that it has this many bytes
// when it looks at the last chunk for the second time.
constexpr size_t kLastChunkBytes = 5;

std::string text(boost::beast::string_view value) {
  return {value.data(), value.size()};
}

// The value of a header that occurs several times, which means the same as a list.
std::string joined(const beast_http::request_header<>& head, beast_http::field name) {
  std::string all;
  const auto [begin, end] = head.equal_range(name);
  for (auto field = begin; field != end; ++field) {
    all += (all.empty() ? "" : ", ") + text(field->value());
  }
  return all;
}

// Whether lines end with CRLF, none is folded, and tabs are the only control characters.
bool is_clean(std::string_view head) {
  for (size_t i = 0; i < head.size(); ++i) {
    const auto c = static_cast<unsigned char>(head[i]);
    if (c == '\r') {
      if (i + 1 == head.size() || head[i + 1] != '\n') return false;
      const bool folded = i + 2 < head.size() && (head[i + 2] == ' ' || head[i + 2] == '\t');
      if (folded) return false;
      ++i;
    } else if ((c < 0x20 && c != '\t') || c == 0x7F) {
      return false;
    }
  }
  return true;
}

HttpError error_of(const boost::beast::error_code& error) {
  if (error == beast_http::error::body_limit) {
    return {413, "the body has more than " + std::to_string(kBodyBytesMax) + " bytes, the limit"};
  }
  if (error == beast_http::error::bad_version) return {505, "only HTTP/1.0 and 1.1 are supported"};
  return {400, "not a valid HTTP request: " + error.message()};
}

}  // namespace

struct RequestParser::Message {
  beast_http::request_parser<beast_http::string_body> parser;
};

RequestParser::RequestParser() = default;
RequestParser::~RequestParser() = default;

std::optional<HttpError> RequestParser::feed(std::string_view bytes) {
  in_ += bytes;
  if (state_ == State::kHead) {
    const size_t end = in_.find(kHeadEnd, searched_);
    const size_t size = end == std::string::npos ? in_.size() : end + kHeadEnd.size();
    if (size > kHeadBytesMax) {
      return HttpError{431, "the request's head has more than " + std::to_string(kHeadBytesMax) +
                                " bytes, the limit"};
    }
    if (end != std::string::npos) return parse_head(size);
    searched_ = in_.size() < kHeadEnd.size() ? 0 : in_.size() - kHeadEnd.size() + 1;
    return std::nullopt;
  }
  return reading_body_ ? read_body() : std::nullopt;
}

std::optional<HttpError> RequestParser::parse_head(size_t size) {
  const std::string_view head = std::string_view(in_).substr(0, size);
  if (!is_clean(head))
    return HttpError{400, "the head has a bare or folded line, or control bytes"};
  message_ = std::make_unique<Message>();
  auto& parser = message_->parser;
  parser.eager(true);
  parser.header_limit(kHeadBytesMax);
  parser.body_limit(kBodyBytesMax);
  boost::beast::error_code error;
  const size_t used = parser.put(boost::asio::buffer(head), error);
  if (error && error != beast_http::error::need_more) return error_of(error);
  if (!parser.is_header_done()) return HttpError{400, "not a valid HTTP request"};
  in_.erase(0, used);
  searched_ = 0;
  const auto& message = parser.get();
  if (message.count(beast_http::field::content_length) > 1 ||
      message.count(beast_http::field::transfer_encoding) > 1 ||
      (message.count(beast_http::field::content_length) == 1 &&
       message.count(beast_http::field::transfer_encoding) == 1) ||
      text(message[beast_http::field::content_length]).find(',') != std::string::npos) {
    return HttpError{400, "the length of the body is given twice"};
  }
  if (message.count(beast_http::field::transfer_encoding) == 1 &&
      !boost::beast::iequals(message[beast_http::field::transfer_encoding], "chunked")) {
    return HttpError{501, "the only transfer encoding is chunked"};
  }
  if (message.count(beast_http::field::host) > 1)
    return HttpError{400, "the request has two Host headers"};
  const std::string target = text(message.target());
  if (!target.starts_with('/')) return HttpError{400, "the request target must be a path"};
  // Parts of the target become texts of messages.
  if (!is_utf8(percent_decoded(target))) return HttpError{400, "the target is not UTF-8"};
  const size_t question = std::min(target.find('?'), target.size());
  request_ = {};
  request_.method = text(message.method_string());
  request_.path = target.substr(0, question);
  request_.query = target.substr(std::min(question + 1, target.size()));
  request_.host = text(message[beast_http::field::host]);
  request_.origin = text(message[beast_http::field::origin]);
  request_.key = bearer_key(text(message[beast_http::field::authorization]));
  if (request_.key.empty()) request_.key = text(message["X-Api-Key"]);
  request_.content_encoding = joined(message, beast_http::field::content_encoding);
  request_.asked_method = text(message[beast_http::field::access_control_request_method]);
  request_.asked_headers = joined(message, beast_http::field::access_control_request_headers);
  request_.asks_private_network = message["Access-Control-Request-Private-Network"] == "true";
  request_.http_1_0 = message.version() == 10;
  request_.keep_alive = parser.keep_alive();
  request_.expects_continue =
      boost::beast::iequals(message[beast_http::field::expect], "100-continue");
  state_ = State::kBody;
  reading_body_ = false;
  return std::nullopt;
}

std::optional<HttpError> RequestParser::read_body() {
  reading_body_ = true;
  auto& parser = message_->parser;
  parser.eager(false);  // a chunk's head or some of the body at a time
  const HttpError long_head = {400, "a chunk's head is too long"};
  boost::beast::error_code error;
  size_t used = 0;
  while (used < in_.size() && !parser.is_done()) {
    const bool may_be_last = parser.chunked() && in_[used] == '0';
    if (may_be_last && in_.size() - used < kLastChunkBytes) break;
    const size_t body_before = parser.get().body().size();
    const size_t read = parser.put(boost::asio::buffer(std::string_view(in_).substr(used)), error);
    used += read;
    if (error == beast_http::error::need_more) break;
    if (error) return error_of(error);
    // The bytes of a chunked body that are not part of the body itself are the head of a chunk, or
    // the last chunk with the trailer. The result is the same in whatever pieces the bytes arrive.
    if (read - (parser.get().body().size() - body_before) > kHeadBytesMax) return long_head;
  }
  in_.erase(0, used);
  if (!parser.is_done() && in_.size() > kHeadBytesMax) return long_head;
  if (!parser.is_done()) return std::nullopt;
  request_.body = std::move(parser.get().body());
  state_ = State::kDone;
  return std::nullopt;
}

size_t RequestParser::body_bytes() const {
  if (state_ == State::kDone) return request_.body.size();
  return in_.size() + (message_ ? message_->parser.get().body().size() : 0);
}

bool RequestParser::body_has_at_most(size_t bytes) const {
  if (!message_ || message_->parser.chunked()) return false;
  return message_->parser.content_length().value_or(0) <= bytes;
}

Request RequestParser::take() {
  Request request = std::move(request_);
  request_ = {};
  message_.reset();
  state_ = State::kHead;
  reading_body_ = false;
  return request;
}

}  // namespace cascade::http
