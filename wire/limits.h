// How large a message and its parts may be. Both the sender's encode() and the receiver's decode()
// apply these limits, so nobody can send what the other side refuses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cascade::wire {

// All frames of a message together.
inline constexpr size_t kMessageBytesMax = size_t{64} << 20;
inline constexpr size_t kFrameCountMax = 4096;  // a decode batch has 5 arrays for each sequence

// The largest message is that of a chunk. A chunk has its text, the text of the question, the text
// with thoughts, and the token ids. Each of these may take a quarter of a message; answers
// (kAnswerBytesMax) are shorter, which leaves room for the rest.
inline constexpr size_t kTextBytesMax = kMessageBytesMax / 4;  // any one string: 4 M tokens of text
inline constexpr size_t kNumbersMax = kMessageBytesMax / 4 / 4;  // of an array of 32-bit numbers

// The longest text of an answer, with its thoughts and with the text that it continues. A
// generation that reaches the limit ends.
inline constexpr size_t kAnswerBytesMax = kTextBytesMax / 2;

// These bound the MessagePack map.
inline constexpr int kDepthMax = 16;          // our messages nest 5 deep
inline constexpr uint32_t kMapKeysMax = 256;  // StatusReply has 35
inline constexpr uint32_t kArrayElementsMax = uint32_t{1} << 20;
// This bounds all values together: one byte of input becomes one Value of 24 bytes, so a map of 64
// MiB could grow to 24 times its size. There is room for 30,000 chunks with a holder or two, or for
// 500 chunks with all the holders that a chunk can have.
inline constexpr size_t kValuesMax = size_t{2} << 20;

}  // namespace cascade::wire
