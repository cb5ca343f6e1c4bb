// Which endpoints there are, which one is the default, and why nobody answers at an endpoint.
#include "clients/cpp/endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "clients/cpp/client.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client {
namespace {

using testing::error_of;
using testing::FakeDaemon;
using testing::ignore;
using testing::TempFolder;

TEST(Endpoint, refuses_what_is_none) {
  EXPECT_EQ(probe_endpoint("http://localhost").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(probe_endpoint("ipc://").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(probe_endpoint("ipc://@hidden").error().code, ErrorCode::kInvalidArgument);
  const Status too_long = probe_endpoint("ipc:///" + std::string(107, 'x'));
  EXPECT_EQ(error_of(too_long),
            "invalid_argument: endpoint: the path of a socket has at most 107 bytes, got 108");
  EXPECT_TRUE(probe_endpoint("tcp://127.0.0.1:1").ok());
}

TEST(Endpoint, tells_a_missing_socket_from_a_dead_one) {
  const TempFolder folder;
  EXPECT_EQ(error_of(Client::connect(folder.endpoint())),
            "unavailable: endpoint: there is no such socket");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.endpoint().substr(6);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);  // the file stays
  const Result<Client> client = Client::connect(folder.endpoint());
  EXPECT_EQ(error_of(client), "unavailable: endpoint: nobody listens on that socket");
  EXPECT_TRUE(is_unreachable(client.error()));
}

TEST(Endpoint, default_follows_the_environment) {
  const TempFolder folder;
  ::unsetenv("CASCADE_ENDPOINT");
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  EXPECT_EQ(default_endpoint(), "ipc:///run/cascaded/cascaded.sock");
  std::filesystem::create_directories(folder.path() / "cascaded" / "cascaded.sock");
  EXPECT_EQ(default_endpoint(), "ipc://" + folder.path().string() + "/cascaded/cascaded.sock");
  ::setenv("CASCADE_ENDPOINT", "ipc:///elsewhere", 1);
  EXPECT_EQ(default_endpoint(), "ipc:///elsewhere");
  ::unsetenv("CASCADE_ENDPOINT");
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(Endpoint, default_is_where_a_daemon_listens) {
  const TempFolder folder;
  ::unsetenv("CASCADE_ENDPOINT");
  const std::filesystem::path left = folder.path() / "left";
  std::filesystem::create_directories(left / "cascaded.sock");
  std::filesystem::create_directories(folder.path() / "cascaded");
  ::setenv("RUNTIME_DIRECTORY", left.c_str(), 1);
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  EXPECT_EQ(default_endpoint(), "ipc://" + left.string() + "/cascaded.sock");
  const std::string served = "ipc://" + folder.path().string() + "/cascaded/cascaded.sock";
  {
    const FakeDaemon daemon(served, ignore);
    EXPECT_EQ(default_endpoint(), served) << "nobody listens at the first";
  }
  const std::vector<std::string> all = default_endpoints();
  EXPECT_EQ(all.front(), "ipc://" + left.string() + "/cascaded.sock");
  EXPECT_NE(std::find(all.begin(), all.end(), served), all.end());
  ::unsetenv("RUNTIME_DIRECTORY");
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(Endpoint, a_socket_without_permission_is_called_that) {
  if (::geteuid() != 0) GTEST_SKIP() << "becomes another user";
  const TempFolder folder;
  const FakeDaemon daemon(folder.endpoint(), ignore);
  const std::string path = folder.endpoint().substr(6);
  constexpr uid_t kOther = 20'010;
  constexpr gid_t kGroup = 20'011;
  ASSERT_EQ(::chown(path.c_str(), 0, kGroup), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), 0, kGroup), 0);
  const auto seen = [&] {
    EXPECT_EQ(::seteuid(kOther), 0);
    const bool forbidden = is_forbidden(folder.endpoint());
    const std::string error = error_of(Client::connect(folder.endpoint()));
    EXPECT_EQ(::seteuid(0), 0);
    return std::pair(forbidden, error);
  };
  ::chmod(folder.path().c_str(), 0755);
  ::chmod(path.c_str(), 0700);
  EXPECT_EQ(seen(), std::pair(true, std::string("unavailable: endpoint: permission denied: only "
                                                "the user root may connect")));
  ::chmod(path.c_str(), 0660);
  const auto [forbidden, error] = seen();
  EXPECT_TRUE(forbidden);
  EXPECT_EQ(error,
            "unavailable: endpoint: permission denied: only the group 20011 may connect (adduser "
            "20010 20011, then log in again)");
  // If the folder is closed, the message says who may enter the folder.
  ::chmod(folder.path().c_str(), 0750);
  EXPECT_NE(seen().second.find("only the group 20011"), std::string::npos);
  ::chmod(folder.path().c_str(), 0700);
  EXPECT_NE(seen().second.find("only the user root"), std::string::npos);
  EXPECT_FALSE(is_forbidden(folder.endpoint()));
  EXPECT_FALSE(is_forbidden("ipc:///no/such/socket"));
}

TEST(Endpoint, default_is_a_folder_in_tmp_only_if_it_is_the_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives a folder to another user";
  ::unsetenv("CASCADE_ENDPOINT");
  ::unsetenv("XDG_RUNTIME_DIR");
  const uid_t user = 20'010 + static_cast<uid_t>(::getpid()) % 5'000;
  const std::filesystem::path folder = "/tmp/cascaded-" + std::to_string(user);
  std::filesystem::create_directories(folder / "cascaded.sock");
  const auto seen = [&] {
    EXPECT_EQ(::seteuid(user), 0);
    const std::string endpoint = default_endpoint();
    EXPECT_EQ(::seteuid(0), 0);
    return endpoint;
  };
  EXPECT_EQ(seen(), "ipc:///run/cascaded/cascaded.sock");
  EXPECT_EQ(::chown(folder.c_str(), user, user), 0);
  EXPECT_EQ(seen(), "ipc://" + folder.string() + "/cascaded.sock");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cascade::client
