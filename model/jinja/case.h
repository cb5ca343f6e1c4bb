// Upper and lower case of marked text, as Python's str methods and Jinja's filters map it.
#pragma once

#include "model/jinja/text.h"

namespace cascade::jinja {

// Full Unicode mappings (one character may become three). The characters that replace a character
// keep its mark.
MarkedText to_lower(const MarkedText& text);
MarkedText to_upper(const MarkedText& text);
// str.capitalize(): the first character in title case, the others in lower case.
MarkedText capitalized(const MarkedText& text);
// str.title(): a character is in title case unless it follows a cased one.
MarkedText title_cased(const MarkedText& text);
// The filter `title`: words begin after whitespace and "-({[<"; their first character is in upper
// case.
MarkedText words_capitalized(const MarkedText& text);

}  // namespace cascade::jinja
