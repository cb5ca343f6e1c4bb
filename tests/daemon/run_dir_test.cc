// The run directory: who may use it, and that only one daemon does.
#include "daemon/run_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/temporary_folder.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Sets the umask for one test.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

mode_t mode_of(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

Error refusal(const fs::path& path) {
  const auto opened = RunDir::open(path);
  EXPECT_FALSE(opened.ok()) << path;
  return opened.ok() ? Error{} : opened.error();
}

TEST(RunDir, is_made_for_this_user_alone) {
  const testing::TemporaryFolder folder;
  const Umask mask(0);
  const fs::path path = folder.path() / "run";
  ASSERT_TRUE(RunDir::open(path).ok());
  EXPECT_EQ(mode_of(path), 0700u);
  EXPECT_EQ(mode_of(path / "cascaded.lock"), 0600u);
}

TEST(RunDir, is_private_with_a_slash_at_its_end) {
  const testing::TemporaryFolder folder;
  const Umask mask(0022);
  ASSERT_TRUE(RunDir::open(folder.path() / "run//").ok());
  EXPECT_EQ(mode_of(folder.path() / "run"), 0700u);
}

TEST(RunDir, is_made_with_its_parents) {
  const testing::TemporaryFolder folder;
  const Umask mask(0022);
  const fs::path path = folder.path() / "a" / "b" / "run";
  ASSERT_TRUE(RunDir::open(path).ok());
  EXPECT_EQ(mode_of(path), 0700u);
  EXPECT_EQ(mode_of(path.parent_path()), 0755u);
}

TEST(RunDir, may_exist_if_others_cannot_write) {
  const testing::TemporaryFolder folder;
  for (const mode_t mode : {0700u, 0750u, 0755u}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    EXPECT_TRUE(RunDir::open(folder.path()).ok()) << std::oct << mode;
    EXPECT_EQ(mode_of(folder.path()), mode);
  }
}

TEST(RunDir, is_refused_if_others_can_write) {
  const testing::TemporaryFolder folder;
  for (const mode_t mode : {0770u, 0702u, 0777u, 01777u}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    const Error error = refusal(folder.path());
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << std::oct << mode;
    EXPECT_EQ(error.field, folder.path());
    EXPECT_THAT(error.message, HasSubstr("writable by others"));
  }
  EXPECT_FALSE(fs::exists(folder.path() / "cascaded.lock"));
}

TEST(RunDir, is_refused_if_it_belongs_to_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: giving a folder away takes root";
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  fs::create_directory(path);
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  const Error error = refusal(path);
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("another user"));
}

TEST(RunDir, is_refused_if_it_is_a_file) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.write("run", "content");
  const Error error = refusal(file);
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("not a folder"));
  EXPECT_EQ(refusal(file / "below").code, ErrorCode::kIo);
  EXPECT_EQ(fs::file_size(file), 7u);
}

TEST(RunDir, is_refused_if_it_cannot_be_made) {
  EXPECT_FALSE(RunDir::open("").ok());
  EXPECT_FALSE(RunDir::open("/proc/cascaded").ok());
  const testing::TemporaryFolder folder;
  EXPECT_EQ(refusal(folder.path() / std::string(300, 'x')).code, ErrorCode::kIo);
}

TEST(RunDir, may_be_a_link_to_a_folder) {
  const testing::TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  fs::permissions(folder.path() / "real", fs::perms::owner_all);
  fs::create_directory_symlink("real", folder.path() / "link");
  const auto first = RunDir::open(folder.path() / "link");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(fs::exists(folder.path() / "real" / "cascaded.lock"));
  // The lock belongs to the folder, whatever name is used for the folder.
  EXPECT_EQ(refusal(folder.path() / "real").code, ErrorCode::kConflict);
}

TEST(RunDir, is_refused_if_it_is_a_link_to_nothing_or_to_what_others_can_write) {
  const testing::TemporaryFolder folder;
  fs::create_directory_symlink("nothing", folder.path() / "dangling");
  EXPECT_EQ(refusal(folder.path() / "dangling").code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder.path() / "nothing"));
  fs::create_directory(folder.path() / "open");
  ASSERT_EQ(::chmod((folder.path() / "open").c_str(), 0777), 0);
  fs::create_directory_symlink("open", folder.path() / "link");
  EXPECT_EQ(refusal(folder.path() / "link").code, ErrorCode::kInvalidArgument);
}

TEST(RunDir, does_not_follow_a_link_in_place_of_its_lock) {
  const testing::TemporaryFolder folder;
  fs::create_symlink("victim", folder.path() / "cascaded.lock");
  const Error error = refusal(folder.path());
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_THAT(error.to_string(), HasSubstr("cascaded.lock"));
  EXPECT_FALSE(fs::exists(folder.path() / "victim"));
}

TEST(RunDir, is_used_by_one_object_at_a_time) {
  const testing::TemporaryFolder folder;
  {
    const auto first = RunDir::open(folder.path());
    ASSERT_TRUE(first.ok());
    const Error error = refusal(folder.path());
    EXPECT_EQ(error.code, ErrorCode::kConflict);
    EXPECT_EQ(error.field, folder.path());
  }
  EXPECT_TRUE(RunDir::open(folder.path()).ok());
}

TEST(RunDir, keeps_its_lock_when_moved) {
  const testing::TemporaryFolder folder;
  auto first = RunDir::open(folder.path());
  ASSERT_TRUE(first.ok());
  {
    const RunDir moved = *std::move(first);
    EXPECT_EQ(refusal(folder.path()).code, ErrorCode::kConflict);
  }
  EXPECT_TRUE(RunDir::open(folder.path()).ok());
}

// Runs a child that locks `path`, says so, and waits until it is told to go on; then it is killed.
class LockingProcess {
 public:
  explicit LockingProcess(const std::string& path) {
    std::array<int, 2> said, told;
    EXPECT_EQ(::pipe(said.data()), 0);
    EXPECT_EQ(::pipe(told.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(told[1]);
      const auto opened = RunDir::open(path);
      const char locked = opened.ok() ? 'y' : 'n';
      char ignored;
      if (::write(said[1], &locked, 1) == 1) (void)!::read(told[0], &ignored, 1);
      ::_exit(0);
    }
    ::close(said[1]);
    ::close(told[0]);
    EXPECT_EQ(::read(said[0], &locked_, 1), 1);
    ::close(said[0]);
    told_ = told[1];
  }
  ~LockingProcess() { kill(); }

  bool locked() const { return locked_ == 'y'; }
  void kill() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    EXPECT_EQ(::waitpid(child_, nullptr, 0), child_);
    ::close(told_);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
  int told_ = -1;
  char locked_ = '?';
};

TEST(RunDir, is_used_by_one_process_at_a_time) {
  const testing::TemporaryFolder folder;
  LockingProcess other(folder.path());
  ASSERT_TRUE(other.locked());
  EXPECT_EQ(refusal(folder.path()).code, ErrorCode::kConflict);
  // However a process ends, its lock ends with it; the file stays and does no harm.
  other.kill();
  EXPECT_TRUE(fs::exists(folder.path() / "cascaded.lock"));
  const auto opened = RunDir::open(folder.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(LockingProcess(folder.path()).locked());
}

// Listens on a socket as ZeroMQ does, and leaves the socket's file behind.
class Listener {
 public:
  explicit Listener(const fs::path& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Listener() { ::close(fd_); }

 private:
  int fd_;
};

TEST(SocketFile, goes_with_the_service) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "s.sock";
  const Listener listener(path);
  SocketFile file("ipc://" + path.string());
  file.remove();
  EXPECT_TRUE(fs::exists(path)) << "it was never ours";
  file.remember();
  file.remove();
  EXPECT_FALSE(fs::exists(path));
  file.remove();  // nothing is left to do
}

TEST(SocketFile, is_open_to_a_group_that_its_folder_is_shared_with) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "socket";
  const Listener listener(path);
  const SocketFile file("ipc://" + path.string());
  for (const auto& [folder_mode, socket_mode] :
       {std::pair(0700u, 0600u), {0755u, 0600u}, {0710u, 0600u}, {0750u, 0660u}}) {
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), folder_mode), 0);
    file.open_to_group();
    EXPECT_EQ(mode_of(path), socket_mode) << std::oct << folder_mode;
  }
  if (::geteuid() != 0) return;  // giving a folder away takes root
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), 0, 65534), 0);
  file.open_to_group();
  EXPECT_EQ(mode_of(path), 0660u);
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 65534u);
}

TEST(SocketFile, stays_if_somebody_else_listens_there) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "s.sock";
  const Listener ours(path);
  SocketFile file("ipc://" + path.string());
  file.remember();
  fs::rename(path, folder.path() / "kept");  // or its inode number might be given to the next file
  const Listener theirs(path);
  file.remove();
  EXPECT_TRUE(fs::exists(path));
}

TEST(SocketFile, is_free_unless_somebody_listens_or_it_is_something_else) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() / "s.sock";
  const SocketFile file("ipc://" + path);
  EXPECT_TRUE(file.check_free().ok());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  EXPECT_EQ(file.check_free().error().code, ErrorCode::kConflict);
  ::close(listener);
  EXPECT_TRUE(file.check_free().ok()) << "who made it has gone";
  fs::remove(path);
  folder.write("s.sock", "precious");
  EXPECT_EQ(file.check_free().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(file.check_free().error().field, path);
}

TEST(SocketFile, is_a_socket) {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.write("s.sock", "content");
  SocketFile file("ipc://" + path.string());
  file.remember();
  file.remove();
  EXPECT_TRUE(fs::exists(path));
}

}  // namespace
}  // namespace cascade
