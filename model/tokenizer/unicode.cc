// Unicode normalisation. Decomposition, composition and their tables are utf8proc's; the ordering
// of combining marks is done here, because utf8proc's takes quadratic time on hostile runs.
#include "model/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace cascade {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

constexpr size_t kDecompositionMax = 32;  // the longest in Unicode has 18 code points

bool is_compatibility(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}
bool is_composed(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

utf8proc_option_t decompose_options(UnicodeForm form) {
  int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
  if (is_compatibility(form)) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

// Appends the decomposed text to `out`; false if it would have more than `count_max` code points.
bool decompose(std::string_view text, UnicodeForm form, size_t count_max, CodePoints& out) {
  const utf8proc_option_t options = decompose_options(form);
  std::array<utf8proc_int32_t, kDecompositionMax> parts;
  int unused_boundary = 0;
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint c = utf8_decode(text, offset);
    offset += c.size;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts.data(), parts.size(),
                                options, &unused_boundary);
    CHECK(count >= 0 && static_cast<size_t>(count) <= parts.size());
    if (out.size() + static_cast<size_t>(count) > count_max) return false;
    out.insert(out.end(), parts.begin(), parts.begin() + count);
  }
  return true;
}

utf8proc_propval_t combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

// Canonical ordering: within each run of combining marks, by class, stably.
void order_marks(CodePoints& points) {
  for (auto begin = points.begin(); begin != points.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, points.end(), [](auto point) { return combining_class(point) == 0; });
    std::stable_sort(begin, end,
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

}  // namespace

bool append_normalized(std::string& out, std::string_view text, UnicodeForm form,
                       size_t bytes_max) {
  CodePoints points;
  if (out.size() > bytes_max || !decompose(text, form, bytes_max - out.size(), points)) {
    return false;
  }
  order_marks(points);
  if (is_composed(form)) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        points.data(), static_cast<utf8proc_ssize_t>(points.size()), options);
    CHECK(count >= 0);
    points.resize(static_cast<size_t>(count));
  }
  for (const utf8proc_int32_t point : points) {
    if (out.size() + 4 > bytes_max) return false;
    utf8_append(out, static_cast<uint32_t>(point));
  }
  return true;
}

}  // namespace cascade
