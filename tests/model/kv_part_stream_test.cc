// Tests of reading ahead: the order, the two buffers, errors, and stopping at any moment.
#include "model/kv_part_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace cascade {
namespace {

constexpr size_t kPartBytes = 100;
constexpr size_t kPagesMax = 4;

// A part's bytes are its layer and its page, by turns; those of a block are 100 more than its
// layer, and its number.
class FakeReader : public KvPartReader {
 public:
  Status read(int layer, std::span<const int32_t> pages, uint8_t* to) override {
    if (held) {
      begun.release();
      go_on.acquire();
    }
    if (++reads == fails_at) return Error{ErrorCode::kIo, "file", "read " + std::to_string(reads)};
    for (const int32_t page : pages) {
      for (size_t i = 0; i < kPartBytes; ++i) {
        *to++ = static_cast<uint8_t>(i % 2 == 0 ? layer : page);
      }
    }
    return {};
  }

  Status read_blocks(int layer, std::span<const int32_t> blocks, uint8_t* to) override {
    return read(layer + 100, blocks, to);
  }

  void waited(int64_t) override { ++waits; }

  int waits = 0;
  std::atomic<bool> held = false;  // every read waits for `go_on`
  std::counting_semaphore<> begun{0}, go_on{0};
  std::atomic<int> reads = 0;
  int fails_at = 0;
};

// Piece i: layer i, pages i and up, one to four of them. Each fifth one has blocks.
struct Pieces {
  explicit Pieces(KvPartReader& reader, int count) : pages(count) {
    for (int i = 0; i < count; ++i) {
      for (int page = 0; page < 1 + i % 4; ++page) pages[i].push_back(i + page);
      all.push_back({&reader, i, pages[i], pages[i].size() * kPartBytes, i % 5 == 4});
    }
  }
  std::vector<std::vector<int32_t>> pages;
  std::vector<KvPartStream::Piece> all;
};

void expect_piece(const uint8_t* bytes, const KvPartStream::Piece& piece) {
  for (size_t i = 0; i < piece.numbers.size() * kPartBytes; ++i) {
    const int page = piece.numbers[i / kPartBytes];
    const int layer = piece.part + (piece.blocks ? 100 : 0);
    ASSERT_EQ(bytes[i], i % kPartBytes % 2 == 0 ? layer : page) << i;
  }
}

TEST(KvPartStream, gives_all_pieces_in_order) {
  KvPartStream stream(kPartBytes * kPagesMax);
  FakeReader reader;
  for (const int count : {0, 1, 2, 3, 50}) {
    const Pieces pieces(reader, count);
    stream.start(pieces.all);
    for (const KvPartStream::Piece& piece : pieces.all) {
      const auto bytes = stream.next();
      ASSERT_TRUE(bytes.ok());
      expect_piece(*bytes, piece);
    }
    stream.stop();
  }
}

TEST(KvPartStream, tells_the_reader_that_it_had_to_wait) {
  KvPartStream stream(kPartBytes * kPagesMax);
  FakeReader reader;
  const Pieces pieces(reader, 1);
  reader.held = true;
  // The other thread is hardly ever quicker than this one.
  for (int i = 0; i < 1000 && reader.waits == 0; ++i) {
    stream.start(pieces.all);
    std::thread opener([&] { reader.go_on.release(); });
    ASSERT_TRUE(stream.next().ok());
    opener.join();
    stream.stop();
  }
  EXPECT_EQ(reader.waits, 1);
}

TEST(KvPartStream, reads_one_piece_ahead_and_never_into_the_piece_in_use) {
  KvPartStream stream(kPartBytes * kPagesMax);
  FakeReader reader;
  reader.held = true;
  const Pieces pieces(reader, 6);
  stream.start(pieces.all);
  // Both buffers are free before the first piece is taken.
  for (int i = 0; i < 2; ++i) {
    reader.begun.acquire();
    reader.go_on.release();
  }
  for (size_t i = 0; i < pieces.all.size(); ++i) {
    const auto bytes = stream.next();
    ASSERT_TRUE(bytes.ok());
    // The piece after the next one begins only now; the held one stays as it is meanwhile.
    if (i > 0 && i + 1 < pieces.all.size()) {
      reader.begun.acquire();
      expect_piece(*bytes, pieces.all[i]);
      reader.go_on.release();
    }
    expect_piece(*bytes, pieces.all[i]);
  }
  stream.stop();
  EXPECT_EQ(reader.reads, 6);
}

TEST(KvPartStream, gives_the_readers_error_at_its_piece_and_reads_no_further) {
  KvPartStream stream(kPartBytes * kPagesMax);
  for (int failing = 1; failing <= 5; ++failing) {
    FakeReader reader;
    reader.fails_at = failing;
    const Pieces pieces(reader, 5);
    stream.start(pieces.all);
    for (int i = 1; i < failing; ++i) {
      const auto bytes = stream.next();
      ASSERT_TRUE(bytes.ok()) << i;
      expect_piece(*bytes, pieces.all[i - 1]);
    }
    const auto failed = stream.next();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message, "read " + std::to_string(failing));
    stream.stop();
    EXPECT_EQ(reader.reads, failing);
  }
}

TEST(KvPartStream, stops_at_any_piece_and_starts_again) {
  KvPartStream stream(kPartBytes * kPagesMax);
  for (int taken = 0; taken <= 5; ++taken) {
    FakeReader reader;
    const Pieces pieces(reader, 5);
    stream.start(pieces.all);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(stream.next().ok());
    stream.stop();
    const int reads = reader.reads;
    EXPECT_GE(reads, taken);
    EXPECT_LE(reads, std::max(2, taken + 1));
    stream.stop();
    EXPECT_EQ(reader.reads, reads) << "nothing is read after stop()";
  }
}

}  // namespace
}  // namespace cascade
