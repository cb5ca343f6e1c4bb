// Finds the end mark and converts the line ends.
#include "clients/ctl/pasted_text.h"

#include <string_view>

namespace cascade::ctl {
namespace {

constexpr std::wstring_view kPasteEnds = L"\x1b[201~";

}  // namespace

bool PastedText::add(wchar_t character) {
  raw_.push_back(character);
  if (!raw_.ends_with(kPasteEnds)) return false;
  raw_.resize(raw_.size() - kPasteEnds.size());
  return true;
}

std::wstring PastedText::text() const {
  std::wstring text;
  for (size_t i = 0; i < raw_.size(); ++i) {
    const bool return_before_newline =
        raw_[i] == L'\r' && i + 1 < raw_.size() && raw_[i + 1] == L'\n';
    if (raw_[i] == L'\0' || return_before_newline) continue;
    text.push_back(raw_[i] == L'\r' ? L'\n' : raw_[i]);
  }
  return text;
}

}  // namespace cascade::ctl
