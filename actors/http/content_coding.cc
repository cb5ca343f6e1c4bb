// zlib itself detects whether it reads gzip or deflate.
#include "actors/http/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"

namespace cascade::http {
namespace {

constexpr int kWindowBits = 15;    // the largest window
constexpr int kDetectHeader = 32;  // added to kWindowBits: the header says gzip or deflate
constexpr size_t kPieceBytes = size_t{64} << 10;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

class Inflater {
 public:
  explicit Inflater(std::string_view in) {
    // zlib does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    CHECK(::inflateInit2(&stream_, kWindowBits + kDetectHeader) == Z_OK);
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Decodes the next piece; its bytes are in `piece`, `size` of them. False: the data is wrong, or
  // its end is missing.
  bool next(std::array<char, kPieceBytes>& piece, size_t& size) {
    stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_out = static_cast<uInt>(piece.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    size = piece.size() - stream_.avail_out;
    if (result == Z_STREAM_END) {
      done_ = stream_.avail_in == 0;
      // A gzip body may have several members, one after the other.
      return done_ || ::inflateReset(&stream_) == Z_OK;
    }
    return result == Z_OK && (size > 0 || stream_.avail_in > 0);
  }
  bool done() const { return done_; }

 private:
  z_stream stream_{};
  bool done_ = false;
};

}  // namespace

bool is_known_coding(std::string_view coding) {
  const std::string name = lower(coding);
  return name.empty() || name == "identity" || name == "gzip" || name == "x-gzip" ||
         name == "deflate";
}

std::optional<HttpError> decode_body(std::string_view coding, std::string_view body,
                                     size_t bytes_max, std::string& out) {
  CHECK(is_known_coding(coding));
  const std::string name = lower(coding);
  if (name.empty() || name == "identity" || body.empty()) {
    out = body;
    return std::nullopt;
  }
  Inflater inflater(body);
  std::array<char, kPieceBytes> piece;
  out.clear();
  while (!inflater.done()) {
    size_t size = 0;
    if (!inflater.next(piece, size)) {
      return HttpError{400, "the body is not whole and valid " + name};
    }
    if (size > bytes_max - out.size()) {
      return HttpError{413, "the body has more than " + std::to_string(bytes_max) +
                                " bytes when it is decompressed, the limit"};
    }
    out.append(piece.data(), size);
  }
  return std::nullopt;
}

}  // namespace cascade::http
