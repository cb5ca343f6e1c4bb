// SQLite's C interface on one side, FileCalls on the other.
#include "persist/sqlite_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "persist/btree_page.h"

namespace cascade {

struct SqliteVfs::State {
  FileCalls& calls;
  bool refuse_damaged;
  std::string name;
  sqlite3_vfs vfs{};
};

namespace {

// The place where other programs that use SQLite look for locks: SQLite's "pending" byte and the
// 511 bytes that follow.
constexpr uint64_t kLockOffset = 0x40000000;
constexpr uint64_t kLockBytes = 512;
constexpr size_t kSummedBytes = kDatabasePageBytes - kDatabaseReservedBytes;

// SQLite's data of an open file. SQLite allocates the memory itself, so all members must be plain.
struct VfsFile {
  sqlite3_file base;
  SqliteVfs::State* state;
  const char* path;  // SQLite keeps it as long as the file is open
  int fd;
  bool is_database;
  bool name_is_new;  // the folder has to be synchronised with the file
  bool locked;
};

VfsFile& of(sqlite3_file* file) {
  return *reinterpret_cast<VfsFile*>(file);
}

SqliteVfs::State& of(sqlite3_vfs* vfs) {
  return *static_cast<SqliteVfs::State*>(vfs->pAppData);
}

uint64_t page_checksum(const uint8_t* page, uint64_t number) {
  return XXH3_64bits_withSeed(page, kSummedBytes, number);
}

bool is_whole_page(const VfsFile& file, int bytes, sqlite3_int64 offset) {
  return file.is_database && bytes == static_cast<int>(kDatabasePageBytes) &&
         offset % static_cast<sqlite3_int64>(kDatabasePageBytes) == 0;
}

uint64_t page_number(sqlite3_int64 offset) {
  return static_cast<uint64_t>(offset) / kDatabasePageBytes + 1;
}

int sync_parent(FileCalls& calls, const char* path) {
  const std::string_view whole = path;
  return sync_folder(calls, std::string(whole.substr(0, whole.rfind('/')))).ok()
             ? SQLITE_OK
             : SQLITE_IOERR_DIR_FSYNC;
}

int close_file(sqlite3_file* file) {
  // An error of the close would not matter: everything important was synchronised before.
  of(file).state->calls.close(of(file).fd);
  return SQLITE_OK;
}

int read_file(sqlite3_file* base, void* to, int bytes, sqlite3_int64 offset) {
  VfsFile& file = of(base);
  FileCalls& calls = file.state->calls;
  auto* out = static_cast<uint8_t*>(to);
  int filled = 0;
  while (filled < bytes) {
    const ssize_t done = calls.read(file.fd, out + filled, static_cast<size_t>(bytes - filled),
                                    static_cast<uint64_t>(offset + filled));
    if (done < 0) return SQLITE_IOERR_READ;
    if (done == 0) break;
    filled += static_cast<int>(done);
  }
  if (filled < bytes) {
    std::memset(out + filled, 0, static_cast<size_t>(bytes - filled));
    return SQLITE_IOERR_SHORT_READ;
  }
  if (is_whole_page(file, bytes, offset) && file.state->refuse_damaged &&
      !is_database_page({out, kDatabasePageBytes}, page_number(offset))) {
    return SQLITE_IOERR_DATA;
  }
  return SQLITE_OK;
}

int write_file(sqlite3_file* base, const void* from, int bytes, sqlite3_int64 offset) {
  VfsFile& file = of(base);
  FileCalls& calls = file.state->calls;
  std::array<uint8_t, kDatabasePageBytes> page;
  const auto* begin = static_cast<const uint8_t*>(from);
  if (file.is_database) failpoint(Failpoint::kCheckpointWrite);
  if (is_whole_page(file, bytes, offset)) {
    std::memcpy(page.data(), from, kSummedBytes);
    clear_unused(std::span(page).first(kSummedBytes), page_number(offset));
    const uint64_t sum = page_checksum(page.data(), page_number(offset));
    std::memcpy(page.data() + kSummedBytes, &sum, sizeof sum);
    begin = page.data();
  }
  int written = 0;
  while (written < bytes) {
    const ssize_t done = calls.write(file.fd, begin + written, static_cast<size_t>(bytes - written),
                                     static_cast<uint64_t>(offset + written));
    if (done < 0) {
      return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    if (done == 0) return SQLITE_FULL;
    written += static_cast<int>(done);
  }
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 bytes) {
  return of(file).state->calls.truncate(of(file).fd, static_cast<uint64_t>(bytes)) == 0
             ? SQLITE_OK
             : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* base, int) {
  VfsFile& file = of(base);
  if (file.is_database) failpoint(Failpoint::kCheckpointSync);
  if (file.state->calls.sync_data(file.fd) != 0) return SQLITE_IOERR_FSYNC;
  if (!file.name_is_new) return SQLITE_OK;
  const int synced = sync_parent(file.state->calls, file.path);
  file.name_is_new = synced != SQLITE_OK;
  return synced;
}

int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
  struct stat info = {};
  if (of(file).state->calls.status(of(file).fd, info) != 0) return SQLITE_IOERR_FSTAT;
  *bytes = info.st_size;
  return SQLITE_OK;
}

// Every lock is exclusive until the file is closed: this process opens a database once, and others
// must stay away.
int lock_file(sqlite3_file* base, int) {
  VfsFile& file = of(base);
  if (file.locked) return SQLITE_OK;
  if (file.state->calls.lock_range(file.fd, kLockOffset, kLockBytes) != 0) {
    return errno == EAGAIN || errno == EACCES ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
  }
  file.locked = true;
  return SQLITE_OK;
}

int unlock_file(sqlite3_file*, int) {
  return SQLITE_OK;
}

int is_reserved(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}

int file_control(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}

int sector_size(sqlite3_file*) {
  return static_cast<int>(kDatabasePageBytes);
}

int device_characteristics(sqlite3_file*) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

const sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = is_reserved,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* base, int flags, int* out_flags) {
  base->pMethods = nullptr;
  if (path == nullptr) return SQLITE_CANTOPEN;
  SqliteVfs::State& state = of(vfs);
  struct stat info = {};
  const bool is_new = state.calls.path_status(path, info) != 0;
  if (is_new && errno != ENOENT) return SQLITE_CANTOPEN;
  int posix = O_NOFOLLOW | ((flags & SQLITE_OPEN_READONLY) != 0 ? O_RDONLY : O_RDWR);
  if ((flags & SQLITE_OPEN_CREATE) != 0) posix |= O_CREAT;
  if ((flags & SQLITE_OPEN_EXCLUSIVE) != 0) posix |= O_EXCL;
  const int fd = state.calls.open(path, posix, 0600);
  if (fd < 0) return errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN;
  new (base) VfsFile{.base = {&kMethods},
                     .state = &state,
                     .path = path,
                     .fd = fd,
                     .is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0,
                     .name_is_new = is_new,
                     .locked = false};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync_folder_too) {
  FileCalls& calls = of(vfs).calls;
  if (calls.remove(path) != 0) {
    return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
  }
  return sync_folder_too != 0 ? sync_parent(calls, path) : SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, const char* path, int, int* exists) {
  struct stat info = {};
  const bool found = of(vfs).calls.path_status(path, info) == 0;
  if (!found && errno != ENOENT) return SQLITE_IOERR_ACCESS;
  // An empty log or journal counts as absent, as in SQLite's own VFS.
  *exists = found && info.st_size > 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int bytes, char* out) {
  const size_t size = std::strlen(path) + 1;
  if (size > static_cast<size_t>(bytes)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, size);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int bytes, char* out) {
  for (int at = 0; at < bytes; at += static_cast<int>(sizeof(uint64_t))) {
    const uint64_t random = system_random();
    const size_t rest = static_cast<size_t>(bytes - at);
    std::memcpy(out + at, &random, rest < sizeof random ? rest : sizeof random);
  }
  return bytes;
}

int sleep_not(sqlite3_vfs*, int) {
  return 0;
}

int current_time(sqlite3_vfs*, double* julian_days) {
  constexpr double kUnixEpochDays = 2440587.5;
  *julian_days = kUnixEpochDays + static_cast<double>(system_clock().wall_us()) / 86'400e6;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) {
  return errno;
}

std::string next_name() {
  static std::atomic<uint64_t> count = 0;
  return "cascade-" + std::to_string(count.fetch_add(1));
}

}  // namespace

bool is_database_page(std::span<const uint8_t> page, uint64_t number) {
  CHECK(page.size() == kDatabasePageBytes);
  uint64_t stored = 0;
  std::memcpy(&stored, page.data() + kSummedBytes, sizeof stored);
  return stored == page_checksum(page.data(), number);
}

SqliteVfs::SqliteVfs(FileCalls& calls, Damaged damaged)
    : state_(std::make_unique<State>(State{calls, damaged == Damaged::kRefuse, next_name()})) {
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(VfsFile);
  vfs.mxPathname = 4096;
  vfs.zName = state_->name.c_str();
  vfs.pAppData = state_.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_not;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

SqliteVfs::~SqliteVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
}

const char* SqliteVfs::name() const {
  return state_->name.c_str();
}

FileCalls& SqliteVfs::calls() const {
  return state_->calls;
}

}  // namespace cascade
