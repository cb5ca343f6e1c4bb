// Measures in turn the bandwidth of the files, of the pages, and of memory.
#include "bench/serve/kv_read_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file_calls.h"
#include "cache/page_arena.h"
#include "persist/store.h"

namespace cascade::serve {
namespace {

constexpr size_t kBlockBytes = size_t{4} << 20;
constexpr size_t kCopyBytes = size_t{256} << 20;
constexpr size_t kPagesAtOnce = 128;  // as the daemon asks for them

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".kv") files.push_back(entry.path().string());
  }
  return files;
}

// Makes the system's cache drop the files' contents, once they are on the disk.
Status forget(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const OwnedFd fd(system_file_calls(), ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok() || ::fdatasync(fd.fd()) != 0) return io_error(file, errno);
    const int failed = ::posix_fadvise(fd.fd(), 0, 0, POSIX_FADV_DONTNEED);
    if (failed != 0) return io_error(file, failed);
  }
  return {};
}

Result<double> read_files(const std::vector<std::string>& files, uint8_t* to) {
  double bytes = 0;
  for (const std::string& file : files) {
    const OwnedFd fd(system_file_calls(), ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) return io_error(file, errno);
    ::posix_fadvise(fd.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
    for (ssize_t got; (got = ::read(fd.fd(), to, kBlockBytes)) != 0;) {
      if (got < 0) return io_error(file, errno);
      bytes += static_cast<double>(got);
    }
  }
  return bytes;
}

speed::Samples ascending(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {std::move(seconds)};
}

class PageReader {
 public:
  static Result<PageReader> open(const std::string& state_dir) {
    ASSIGN_OR_RETURN(auto store, Store::open(system_file_calls(), state_dir));
    PageReader reader(std::move(store));
    ASSIGN_OR_RETURN(const auto models, reader.store_->kv().models());
    for (const ModelRecord& model : models) {
      ASSIGN_OR_RETURN(auto pages, reader.store_->kv().pages(model.digest));
      if (!pages.empty()) reader.pages_ = std::move(pages);
    }
    if (reader.pages_.empty()) return not_found("state_dir", "has no pages");
    // Chain after chain, as the pages were written and as the daemon reads them.
    std::ranges::sort(reader.pages_, {}, [](const StoredPage& page) {
      return std::pair(page.place.file, page.place.offset);
    });
    const uint64_t page_bytes = reader.pages_.front().header.page_bytes;
    auto arena = PageArena::create(page_bytes, reader.pages_.size());
    if (!arena.ok()) return arena.error();
    reader.arena_.emplace(*std::move(arena));
    // Touches the pages so that they have their memory already, as most pages of the daemon do.
    for (size_t i = 0; i < reader.pages_.size(); ++i) {
      std::memset(reader.arena_->data(static_cast<PageIndex>(i)), 1, page_bytes);
    }
    return reader;
  }

  double bytes() const { return static_cast<double>(pages_.size() * arena_->page_bytes()); }

  Status read_all() {
    const uint64_t page_bytes = pages_.front().header.page_bytes;
    for (size_t begin = 0; begin < pages_.size(); begin += kPagesAtOnce) {
      std::vector<PageRead> reads;
      for (size_t i = begin; i < std::min(pages_.size(), begin + kPagesAtOnce); ++i) {
        const KvPageHeader& header = pages_[i].header;
        reads.push_back({header.key, header.token_ids, arena_->data(static_cast<PageIndex>(i))});
      }
      const PagesRead read = store_->kv().read(page_bytes, reads);
      if (read.error) return *read.error;
    }
    return {};
  }

 private:
  explicit PageReader(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  std::unique_ptr<Store> store_;
  std::vector<StoredPage> pages_;
  std::optional<PageArena> arena_;
};

}  // namespace

Result<KvReadSpeed> measure_kv_read(const std::string& state_dir, int64_t repeats) {
  ASSIGN_OR_RETURN(PageReader reader, PageReader::open(state_dir));
  const std::vector<std::string> files = files_of(state_dir + "/kv");
  std::vector<uint8_t> from(kCopyBytes, 1), to(kCopyBytes, 2);
  KvReadSpeed result;
  result.bytes = reader.bytes();
  result.copy_bytes = static_cast<double>(kCopyBytes);
  std::vector<double> cold, warm, files_cold, copy;
  for (int64_t i = 0; i < repeats; ++i) {
    RETURN_IF_ERROR(forget(files));
    double begin = speed::now_s();
    ASSIGN_OR_RETURN(result.file_bytes, read_files(files, to.data()));
    files_cold.push_back(speed::now_s() - begin);
    RETURN_IF_ERROR(forget(files));
    begin = speed::now_s();
    RETURN_IF_ERROR(reader.read_all());
    cold.push_back(speed::now_s() - begin);
    begin = speed::now_s();
    RETURN_IF_ERROR(reader.read_all());
    warm.push_back(speed::now_s() - begin);
    begin = speed::now_s();
    std::memcpy(to.data(), from.data(), kCopyBytes);
    copy.push_back(speed::now_s() - begin);
  }
  result.cold = ascending(std::move(cold));
  result.warm = ascending(std::move(warm));
  result.files_cold = ascending(std::move(files_cold));
  result.copy = ascending(std::move(copy));
  return result;
}

}  // namespace cascade::serve
