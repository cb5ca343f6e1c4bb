// As little HTTP as these measurements need: a body with a length, and connections that stay open.
#include "bench/serve/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace cascade::serve {
namespace {

constexpr int kTimeoutS = 60;

Error lost() {
  return {ErrorCode::kUnavailable, "", "the HTTP connection has ended"};
}

// The number after "Content-Length:" in the head of an answer.
Result<size_t> content_length(const std::string& head) {
  const std::string name = "\r\nContent-Length: ";
  const size_t at = head.find(name);
  size_t length = 0;
  if (at == std::string::npos ||
      std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length).ec !=
          std::errc()) {
    return Error{ErrorCode::kInternal, "", "an HTTP answer has no Content-Length"};
  }
  return length;
}

}  // namespace

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

OrderedJson completion_body(const std::string& prompt, int64_t tokens) {
  return {{"prompt", prompt}, {"max_tokens", tokens}, {"temperature", 0}, {"ignore_eos", true}};
}

Result<int> free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return io_error("a socket", errno);
  sockaddr_in address = local_address(0);
  socklen_t size = sizeof address;
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  ::close(socket);
  if (!bound) return io_error("a port", error);
  return ntohs(address.sin_port);
}

Result<std::unique_ptr<HttpClient>> HttpClient::connect(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return io_error("a socket", errno);
  std::unique_ptr<HttpClient> client(new HttpClient(socket));
  const timeval timeout = {kTimeoutS, 0};
  const int on = 1;
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const sockaddr_in address = local_address(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{ErrorCode::kUnavailable, "", "nobody serves HTTP at port " + std::to_string(port)};
  }
  return client;
}

HttpClient::~HttpClient() {
  ::close(socket_);
}

Status HttpClient::receive() {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return lost();
  received_.append(buffer.data(), static_cast<size_t>(count));
  return {};
}

Result<OrderedJson> HttpClient::post(const std::string& path, const OrderedJson& body) {
  const std::string text = body.dump();
  const std::string request = "POST " + path +
                              " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                              "Content-Length: " +
                              std::to_string(text.size()) + "\r\n\r\n" + text;
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t count =
        ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return lost();
    sent += static_cast<size_t>(count);
  }
  received_.clear();
  size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) RETURN_IF_ERROR(receive());
  const std::string head = received_.substr(0, end + 2);
  ASSIGN_OR_RETURN(const size_t length, content_length(head));
  while (received_.size() < end + 4 + length) RETURN_IF_ERROR(receive());
  if (!head.starts_with("HTTP/1.1 200 ")) {
    return Error{ErrorCode::kUnavailable, "", received_};
  }
  return parse_ordered_json(received_.substr(end + 4, length), "answer");
}

}  // namespace cascade::serve
