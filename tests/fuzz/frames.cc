// Messages: every message that can be read is written and read again.
#include <cstring>

#include "tests/fuzz/frames_input.h"
#include "tests/fuzz/input.h"
#include "wire/frames.h"

namespace cascade::fuzz {

wire::Frames split_frames(Bytes input) {
  wire::Frames frames;
  while (input.size() >= sizeof(uint32_t)) {
    uint32_t size = 0;
    std::memcpy(&size, input.data(), sizeof size);
    input = input.subspan(sizeof size);
    const Bytes frame = input.first(std::min<size_t>(size, input.size()));
    frames.emplace_back(text_of(frame));
    input = input.subspan(frame.size());
  }
  return frames;
}

std::string join_frames(const wire::Frames& frames) {
  std::string bytes;
  for (const wire::Frame& frame : frames) {
    const auto size = static_cast<uint32_t>(frame.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += frame;
  }
  return bytes;
}

bool read_frames(Bytes input) {
  const wire::Frames frames = split_frames(input);
  (void)wire::peek_request_id(frames);
  const auto read = wire::decode(frames);
  if (!is_ok(read)) {
    CHECK(!read.error().field.empty());
    return false;
  }
  const wire::Frames written = *wire::encode(*read);
  const auto again = wire::decode(written);
  CHECK(again.ok());
  CHECK(*wire::encode(*again) == written);
  return true;
}

}  // namespace cascade::fuzz
