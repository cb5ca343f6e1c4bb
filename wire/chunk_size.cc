// Measures chunks in the form in which messages carry them.
#include "wire/chunk_size.h"

#include "wire/chunk_fields.h"
#include "wire/message_size.h"

namespace cascade::wire {
namespace {

MessageSizer size_of(const Chunk& chunk, MessageSizer::Texts texts) {
  MessageSizer size(texts);
  size.structure(chunk);
  return size;
}

}  // namespace

Status check_size(const Chunk& chunk) {
  if (!size_of(chunk, MessageSizer::Texts::kAtMost).problem()) return {};
  const auto problem = size_of(chunk, MessageSizer::Texts::kExactly).problem();
  if (problem) return *problem;
  return {};
}

bool ChunkRoom::takes(const Chunk& chunk) {
  const MessageSizer size = size_of(chunk, MessageSizer::Texts::kAtMost);
  const size_t values = values_ + size.values();
  const size_t bytes = bytes_ + size.bytes();
  const size_t numbers = numbers_ + size.numbers();
  const bool fits =
      values <= kValuesMax / 2 && bytes <= kMessageBytesMax / 2 && numbers <= kNumbersMax / 2;
  if (!fits && !empty_) return false;
  empty_ = false;
  values_ = values;
  bytes_ = bytes;
  numbers_ = numbers;
  return true;
}

}  // namespace cascade::wire
