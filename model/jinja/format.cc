// The two formatting languages of Python strings.
#include "model/jinja/format.h"

#include <string>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/format_spec.h"
#include "model/jinja/markup.h"
#include "model/jinja/number.h"
#include "model/jinja/print.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// The parts that both languages share: the format, the text so far, and escaping if the format is
// markup.
class Formatter {
 protected:
  Formatter(Runtime& runtime, const String& format)
      : runtime_(runtime), is_markup_(format.is_markup), format_(format.text) {}

  std::string_view view() const { return format_.view(); }
  bool at_end() const { return pos_ >= format_.size(); }

  void copy_until(size_t end) {
    out_.append(format_, pos_, end);
    pos_ = end;
  }

  // str(value), or repr(value).
  Result<MarkedText> shown(const Value& value, bool as_repr) {
    ASSIGN_OR_RETURN(MarkedText text,
                     as_repr ? to_repr(runtime_, value) : to_text(runtime_, value));
    const bool is_safe = !is_markup_ || (value.string() != nullptr && value.string()->is_markup);
    if (is_safe) return text;
    return escape_html(runtime_, text);
  }

  Result<Value> finish() {
    return is_markup_ ? make_markup(std::move(out_)) : make_string(std::move(out_));
  }

  Runtime& runtime_;
  const bool is_markup_;
  const MarkedText& format_;
  size_t pos_ = 0;
  MarkedText out_;
};

class PercentFormatter : private Formatter {
 public:
  PercentFormatter(Runtime& runtime, const String& format, const Value& values)
      : Formatter(runtime, format), values_(values) {}

  Result<Value> run() {
    RETURN_IF_ERROR(runtime_.charge_bytes(format_.bytes_held()));
    while (!at_end()) {
      const size_t percent = view().find('%', pos_);
      copy_until(std::min(percent, format_.size()));
      if (!at_end()) RETURN_IF_ERROR(field());
    }
    const Sequence* tuple = values_.tuple();
    const bool may_be_unused =
        values_.dict() != nullptr || values_.list() != nullptr || values_.is_undefined();
    const bool all_used =
        tuple != nullptr ? used_ == tuple->items.size() : used_ == 1 || may_be_unused;
    if (!all_used) return template_error("not all values were used by the format string");
    return finish();
  }

 private:
  // The field whose '%' is at pos_.
  Status field() {
    ++pos_;
    RETURN_IF_ERROR(runtime_.charge(1));
    std::optional<Value> named;
    if (view().substr(pos_).starts_with('(')) {
      ASSIGN_OR_RETURN(named, named_value());
    }
    ASSIGN_OR_RETURN(FormatSpec spec, read_spec());
    if (at_end()) return template_error("the format string ends inside a field");
    if (view()[pos_] == '%') {
      copy_until(pos_ + 1);
      return {};
    }
    spec.type = view()[pos_++];
    if (!named.has_value()) {
      ASSIGN_OR_RETURN(named, next_value());
    }
    ASSIGN_OR_RETURN(const MarkedText text, formatted(*named, spec));
    out_.append(text);
    return {};
  }

  Result<Value> named_value() {
    const size_t end = view().find(')', pos_);
    const Dict* dict = values_.dict();
    if (end == std::string_view::npos || dict == nullptr) {
      return template_error("'%(' in a format string needs ')' and a dict of values");
    }
    const std::string_view name = view().substr(pos_ + 1, end - pos_ - 1);
    RETURN_IF_ERROR(runtime_.charge_lookup(dict->entries.size(), name.size()));
    const Value* value = dict->find(name);
    if (value == nullptr) return template_error("a value that the format string names is missing");
    pos_ = end + 1;
    return *value;
  }

  Result<Value> next_value() {
    const Sequence* tuple = values_.tuple();
    const size_t count = tuple != nullptr ? tuple->items.size() : 1;
    if (used_ == count) return template_error("too few values for the format string");
    const size_t index = used_++;
    return tuple != nullptr ? tuple->items[index] : values_;
  }

  Result<FormatSpec> read_spec() {
    FormatSpec spec;
    for (; !at_end(); ++pos_) {
      const char flag = view()[pos_];
      if (flag == '-') {
        spec.align = '<';
      } else if (flag == '0') {
        if (spec.align == '\0') spec.align = '=';
      } else if (flag == '+' || (flag == ' ' && spec.sign == '-')) {
        spec.sign = flag;
      } else if (flag == '#') {
        spec.alternate = true;
      } else if (flag != ' ') {
        break;
      }
    }
    if (spec.align == '=') spec.fill = "0";
    ASSIGN_OR_RETURN(const auto width, read_count(view(), pos_, "width", kFieldWidthMax));
    spec.width = width.value_or(0);
    if (!at_end() && view()[pos_] == '.') {
      ++pos_;
      ASSIGN_OR_RETURN(const auto digits,
                       read_count(view(), pos_, "precision", kFieldPrecisionMax));
      spec.precision = digits.value_or(0);
    }
    while (!at_end() && (view()[pos_] == 'l' || view()[pos_] == 'h' || view()[pos_] == 'L')) ++pos_;
    return spec;
  }

  Result<MarkedText> formatted(const Value& value, FormatSpec spec) {
    const char type = spec.type;
    if (type == 's' || type == 'r') {
      ASSIGN_OR_RETURN(const MarkedText text, shown(value, type == 'r'));
      if (spec.align != '<') spec.align = '>';
      spec.fill = " ";
      spec.type = 's';
      return format_string(runtime_, text, spec);
    }
    const auto number = as_number(value);
    if (std::string_view("diuxXoeEfFgG").find(type) == std::string_view::npos) {
      return template_error("the format field '%" + std::string(1, type) + "' is not supported");
    }
    if (!number.has_value()) {
      return template_error("the format field '%" + std::string(1, type) +
                            "' needs a number, not " + std::string(value.type_name()));
    }
    if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      return format_real(runtime_, static_cast<double>(*number), spec);
    }
    const bool is_decimal = type == 'd' || type == 'i' || type == 'u';
    if ((value.real() != nullptr && !is_decimal) || spec.precision.has_value()) {
      return template_error("a format field for integers does not fit its value or precision");
    }
    if (is_decimal) spec.type = 'd';
    if (const double* real = value.real()) {
      ASSIGN_OR_RETURN(const int64_t whole, int_from_float(*real));
      return format_integer(runtime_, whole, spec);
    }
    return format_integer(runtime_, static_cast<int64_t>(*number), spec);
  }

  const Value& values_;
  size_t used_ = 0;
};

class BraceFormatter : private Formatter {
 public:
  BraceFormatter(Runtime& runtime, const String& format, const Arguments& arguments)
      : Formatter(runtime, format), arguments_(arguments) {}

  Result<Value> run() {
    RETURN_IF_ERROR(runtime_.charge_bytes(format_.bytes_held()));
    while (!at_end()) {
      copy_until(std::min(view().find_first_of("{}", pos_), format_.size()));
      if (at_end()) break;
      const char brace = view()[pos_];
      if (view().substr(pos_ + 1).starts_with(brace)) {  // "{{" and "}}" stand for one brace
        copy_until(pos_ + 1);
        ++pos_;
      } else if (brace == '{') {
        RETURN_IF_ERROR(field());
      } else {
        return template_error("a single '}' in a format string");
      }
    }
    return finish();
  }

 private:
  // The field whose '{' is at pos_: {name!conversion:spec}.
  Status field() {
    RETURN_IF_ERROR(runtime_.charge(1));
    const size_t end = view().find('}', pos_);
    if (end == std::string_view::npos) return template_error("a single '{' in a format string");
    std::string_view text = view().substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string_view spec_text = text.substr(std::min(colon + 1, text.size()));
    text = text.substr(0, colon);
    const size_t mark = std::min(text.find('!'), text.size());
    const std::string_view conversion = text.substr(mark);
    if (conversion != "" && conversion != "!r" && conversion != "!s") {
      return template_error("the conversion " + in_quotes(conversion) + " is not supported");
    }
    ASSIGN_OR_RETURN(const Value* value, find(text.substr(0, mark)));
    ASSIGN_OR_RETURN(const FormatSpec spec, parse_format_spec(spec_text));
    ASSIGN_OR_RETURN(const MarkedText field_text,
                     formatted(*value, conversion, spec, spec_text.empty()));
    out_.append(field_text);
    return {};
  }

  Result<const Value*> find(std::string_view name) {
    if (name.find_first_of("{.[") != std::string_view::npos) {
      return template_error("the format field " + in_quotes(name) + " is not supported");
    }
    size_t pos = 0;
    ASSIGN_OR_RETURN(std::optional<int64_t> index, read_count(name, pos, "index", 1 << 20));
    if (pos < name.size()) index.reset();
    if (name.empty()) index = next_++;
    const Value* value = nullptr;
    if (!index.has_value()) {
      RETURN_IF_ERROR(runtime_.charge_lookup(arguments_.named.size(), name.size()));
      value = arguments_.find(name);
    } else if (static_cast<size_t>(*index) < arguments_.positional.size()) {
      value = &arguments_.positional[static_cast<size_t>(*index)];
    }
    if (value == nullptr) {
      return template_error("the format field " + in_quotes(name) + " has no value");
    }
    return value;
  }

  // `is_plain`: the field has no format spec.
  Result<MarkedText> formatted(const Value& value, std::string_view conversion,
                               const FormatSpec& spec, bool is_plain) {
    if (conversion.empty()) {
      const bool* flag = value.boolean();
      if (flag != nullptr && !is_plain) return format_integer(runtime_, int64_t{*flag}, spec);
      if (const int64_t* number = value.integer()) return format_integer(runtime_, *number, spec);
      if (const double* number = value.real()) return format_real(runtime_, *number, spec);
      if (value.text() == nullptr && !is_plain) {
        return template_error("a format does not fit a value of type " +
                              std::string(value.type_name()));
      }
    }
    ASSIGN_OR_RETURN(const MarkedText text, shown(value, conversion == "!r"));
    return format_string(runtime_, text, spec);
  }

  const Arguments& arguments_;
  int64_t next_ = 0;
};

}  // namespace

Result<Value> format_percent(Runtime& runtime, const String& format, const Value& values) {
  return PercentFormatter(runtime, format, values).run();
}

Result<Value> format_braces(Runtime& runtime, const String& format, const Arguments& arguments) {
  return BraceFormatter(runtime, format, arguments).run();
}

}  // namespace cascade::jinja
