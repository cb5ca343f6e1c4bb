// Addresses and endpoints as texts.
#include "base/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade {
namespace {

using ::testing::HasSubstr;

TEST(Endpoint, is_an_absolute_ipc_path) {
  EXPECT_TRUE(check_endpoint("ipc:///run/cascaded/cascaded.sock").ok());
  EXPECT_TRUE(check_endpoint("ipc:///" + std::string(99, 'x')).ok());
}

TEST(Endpoint, is_refused_for_other_transports) {
  for (const char* endpoint :
       {"", "tcp://127.0.0.1:5555", "tcp://*:5555", "inproc://x", "pgm://x", "ws://x", "udp://x",
        "vmci://x", "tipc://x", "IPC:///x", "ipc:/x", "/run/x", " ipc:///x"}) {
    const Status status = check_endpoint(endpoint);
    ASSERT_FALSE(status.ok()) << endpoint;
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(status.error().field, "endpoint");
    EXPECT_THAT(status.error().message, HasSubstr(endpoint));
  }
}

TEST(Endpoint, is_refused_if_not_absolute) {
  // "ipc://*" makes ZeroMQ invent a name; "ipc://@x" uses a name without a file that has
  // permissions.
  for (const char* endpoint : {"ipc://", "ipc://*", "ipc://@abstract", "ipc://x", "ipc://./x"}) {
    const Status status = check_endpoint(endpoint);
    ASSERT_FALSE(status.ok()) << endpoint;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(status.error().field, "endpoint");
  }
}

TEST(Endpoint, is_refused_if_too_long_for_a_socket) {
  const Status status = check_endpoint("ipc:///" + std::string(100, 'x'));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("101"));
  EXPECT_THAT(status.error().message, HasSubstr("100"));
}

TEST(Endpoint, of_a_tenant_is_beside_the_daemons_own) {
  EXPECT_EQ(default_endpoint("/run/x"), "ipc:///run/x/cascaded.sock");
  EXPECT_EQ(tenant_endpoint("/run/x", "web"), "ipc:///run/x/tenant-web.sock");
}

TEST(Address, of_tcp_is_an_ip_and_a_port) {
  const auto four = parse_tcp_address("127.0.0.1:8178");
  ASSERT_TRUE(four.ok());
  EXPECT_EQ(four->ip, "127.0.0.1");
  EXPECT_EQ(four->port, 8178);
  const auto six = parse_tcp_address("[::1]:0");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->ip, "::1");
  EXPECT_EQ(six->port, 0);
  EXPECT_EQ(parse_tcp_address("localhost:1")->ip, "127.0.0.1");
}

TEST(Address, that_is_none_is_refused) {
  for (const char* address :
       {"", ":", "8178", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:8178x", "example.com:80", "1.2.3:80", "[::1:80", ":80", "http://127.0.0.1:80"}) {
    for (const Error& error :
         {parse_tcp_address(address).error(), is_local_address(address).error()}) {
      EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << address;
      EXPECT_EQ(error.field, "address");
    }
  }
}

TEST(Address, is_local_on_a_loopback_or_a_unix_socket) {
  for (const char* address : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:1", "unix:/x"}) {
    EXPECT_TRUE(*is_local_address(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1"}) {
    EXPECT_FALSE(*is_local_address(address)) << address;
  }
}

TEST(Address, of_a_unix_socket_is_a_path_that_the_system_takes) {
  EXPECT_TRUE(is_local_address("unix:" + std::string(107, 'x')).ok());
  EXPECT_FALSE(is_local_address("unix:" + std::string(108, 'x')).ok());
  EXPECT_FALSE(is_local_address("unix:").ok());
}

TEST(Address, of_a_port_alone_is_this_machines) {
  EXPECT_EQ(with_host("8178"), "127.0.0.1:8178");
  EXPECT_EQ(with_host("0.0.0.0:8178"), "0.0.0.0:8178");
  EXPECT_EQ(with_host("unix:8178"), "unix:8178");
  EXPECT_EQ(with_host(""), "");
}

}  // namespace
}  // namespace cascade
