// The directives of strftime, in the C locale.
#include "model/jinja/time.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "model/jinja/error.h"

namespace cascade::jinja {
namespace {

constexpr std::string_view kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

// 0000-01-01, and the second after 9999-12-31.
constexpr int64_t kTimeMin = -62'167'219'200;
constexpr int64_t kTimeEnd = 253'402'300'800;

// The steps of one directive, which may stand for several others.
constexpr uint64_t kDirectiveSteps = 20;

struct CivilTime {
  int year, month, day;  // 1..12, 1..31
  int hour, minute, second;
  int weekday;   // 0 = Sunday
  int year_day;  // 0 = 1 January
};

CivilTime civil_time(int64_t unix_s) {
  namespace chrono = std::chrono;
  const chrono::sys_seconds time{chrono::seconds(unix_s)};
  const auto days = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(days);
  const chrono::hh_mm_ss clock(time - days);
  const chrono::sys_days new_year = chrono::year_month_day(date.year() / 1 / 1);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(chrono::weekday(days).c_encoding()),
          static_cast<int>((days - new_year).count())};
}

int iso_weekday(const CivilTime& time) {
  return time.weekday == 0 ? 7 : time.weekday;
}

int weeks_of_iso_year(int year) {
  // A year has 53 weeks if it begins, or ends, on a Thursday.
  const auto last_weekday = [](int y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
  return last_weekday(year) == 4 || last_weekday(year - 1) == 3 ? 53 : 52;
}

struct IsoWeek {
  int year;
  int week;
};

IsoWeek iso_week(const CivilTime& time) {
  const int week = (time.year_day + 1 - iso_weekday(time) + 10) / 7;
  if (week < 1) return {time.year - 1, weeks_of_iso_year(time.year - 1)};
  if (week > weeks_of_iso_year(time.year)) return {time.year + 1, 1};
  return {time.year, week};
}

// A number in its field; `flag` '-' leaves the padding out.
std::string number(int value, int width, char flag, char padding = '0') {
  std::string text = std::to_string(value);
  const auto wanted = static_cast<size_t>(width);
  if (flag != '-' && text.size() < wanted) text.insert(0, wanted - text.size(), padding);
  return text;
}

std::string expand(std::string_view format, const CivilTime& time, int64_t unix_s);

// Directives that give words, or are short for several directives.
std::optional<std::string> text_directive(char directive, const CivilTime& time, int64_t unix_s) {
  const std::string_view weekday = kWeekdays[time.weekday];
  const std::string_view month = kMonths[time.month - 1];
  switch (directive) {
    case 'a':
      return std::string(weekday.substr(0, 3));
    case 'A':
      return std::string(weekday);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'c':
      return expand("%a %b %e %H:%M:%S %Y", time, unix_s);
    case 'x':
    case 'D':
      return expand("%m/%d/%y", time, unix_s);
    case 'X':
    case 'T':
      return expand("%H:%M:%S", time, unix_s);
    case 'F':
      return expand("%Y-%m-%d", time, unix_s);
    case 'R':
      return expand("%H:%M", time, unix_s);
    case 'r':
      return expand("%I:%M:%S %p", time, unix_s);
    case 'Z':
    case 'z':
      return "";  // datetime.now() has no time zone
    case 'f':
      return "000000";  // the clock of a rendering has whole seconds
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

std::optional<std::string> number_directive(char directive, const CivilTime& time, char flag,
                                            int64_t unix_s) {
  const int hour12 = time.hour % 12 == 0 ? 12 : time.hour % 12;
  switch (directive) {
    case 'd':
      return number(time.day, 2, flag);
    case 'e':
      return number(time.day, 2, flag, ' ');
    case 'H':
      return number(time.hour, 2, flag);
    case 'k':
      return number(time.hour, 2, flag, ' ');
    case 'I':
      return number(hour12, 2, flag);
    case 'l':
      return number(hour12, 2, flag, ' ');
    case 'j':
      return number(time.year_day + 1, 3, flag);
    case 'm':
      return number(time.month, 2, flag);
    case 'M':
      return number(time.minute, 2, flag);
    case 'S':
      return number(time.second, 2, flag);
    case 's':
      return std::to_string(unix_s);
    case 'u':
      return number(iso_weekday(time), 1, flag);
    case 'w':
      return number(time.weekday, 1, flag);
    case 'U':
      return number((time.year_day + 7 - time.weekday) / 7, 2, flag);
    case 'W':
      return number((time.year_day + 8 - iso_weekday(time)) / 7, 2, flag);
    case 'V':
      return number(iso_week(time).week, 2, flag);
    case 'G':
      return number(iso_week(time).year, 4, '-');
    case 'y':
      return number(time.year % 100, 2, flag);
    case 'C':
      return number(time.year / 100, 2, flag);
    case 'Y':
      return number(time.year, 4, '-');
    default:
      return std::nullopt;
  }
}

std::optional<std::string> directive_text(char directive, char flag, const CivilTime& time,
                                          int64_t unix_s) {
  if (auto text = number_directive(directive, time, flag, unix_s)) return text;
  return flag == '-' ? std::nullopt : text_directive(directive, time, unix_s);
}

// Expands the formats above, which hold known directives only.
std::string expand(std::string_view format, const CivilTime& time, int64_t unix_s) {
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '%') {
      text += directive_text(format[++i], '\0', time, unix_s).value_or("");
    } else {
      text += format[i];
    }
  }
  return text;
}

}  // namespace

Result<MarkedText> format_time(Runtime& runtime, const MarkedText& format, int64_t unix_s) {
  if (unix_s < kTimeMin || unix_s >= kTimeEnd) return template_error("the clock is out of range");
  RETURN_IF_ERROR(runtime.charge_bytes(format.bytes_held()));
  const CivilTime time = civil_time(unix_s);
  const std::string_view view = format.view();
  MarkedText text;
  for (size_t pos = 0; pos < view.size();) {
    const size_t percent = std::min(view.find('%', pos), view.size());
    text.append(format, pos, percent);
    if (percent == view.size()) break;
    const char flag = view.substr(percent + 1).starts_with('-') ? '-' : '\0';
    const size_t letter = percent + (flag == '-' ? 2 : 1);
    if (letter >= view.size()) return template_error("a time format ends with '%'");
    RETURN_IF_ERROR(runtime.charge(kDirectiveSteps));
    const auto expanded = directive_text(view[letter], flag, time, unix_s);
    if (!expanded.has_value()) {
      return template_error("the time format " + in_quotes(view.substr(percent)) +
                            " is not supported");
    }
    text.append(*expanded, false);
    pos = letter + 1;
  }
  return text;
}

}  // namespace cascade::jinja
