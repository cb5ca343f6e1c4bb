// Digit by digit beside the digits of the limits.
#include "model/grammar/numbers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace cascade {
namespace {

using State = ByteAutomaton::State;

constexpr int kIntegerDigits = 18, kFractionDigits = 16, kExponentDigits = 2;
constexpr int kLimitedDigits = 15;

void add_digits(ByteAutomaton& bytes, State from, int low, int high, State to) {
  if (low > high) return;
  bytes.add_edge(from, static_cast<uint8_t>('0' + low), static_cast<uint8_t>('0' + high), to);
}

// The digit at `index` of a limit, counted from its first, and whether nothing but zeros follows.
int digit(const Decimal& limit, size_t index) {
  if (index < limit.whole.size()) return limit.whole[index] - '0';
  index -= limit.whole.size();
  return index < limit.fraction.size() ? limit.fraction[index] - '0' : 0;
}
bool zeros_from(const Decimal& limit, size_t index) {
  for (; index < limit.whole.size() + limit.fraction.size(); ++index) {
    if (digit(limit, index) != 0) return false;
  }
  return true;
}

// Numbers without a sign within [low, high].
class Magnitudes {
 public:
  Magnitudes(ByteAutomaton& bytes, Decimal low, std::optional<Decimal> high, int whole_max,
             int digits_max)
      : bytes_(bytes),
        low_(std::move(low)),
        high_(std::move(high)),
        whole_max_(whole_max),
        digits_max_(digits_max) {}

  void add(State from) {
    for (int whole = 1; whole <= whole_max_; ++whole) {
      const auto size = static_cast<size_t>(whole);
      if (size < low_.whole.size()) continue;
      if (high_ && size > high_->whole.size()) break;
      const bool at_low = size == low_.whole.size();
      const bool at_high = high_ && size == high_->whole.size();
      const int fraction = std::max(0, digits_max_ - whole);
      add_steps(from, {0, whole, fraction, at_low, at_high, Point::kBefore});
    }
  }

 private:
  // `index` digits were read, so many are to come before the point and may come behind it. While
  // `at_low` (`at_high`) they are those of the limit.
  struct Place {
    int index = 0;
    int whole = 0;
    int fraction = 0;
    bool at_low = false;
    bool at_high = false;
    enum class Point : uint8_t { kBefore, kAt, kBehind } point = Point::kBefore;
    auto operator<=>(const Place&) const = default;
  };
  using Point = Place::Point;

  State state(Place place) {
    if (!place.at_low && !place.at_high) place.index = 1;  // it matters no more
    const auto [known, added] = known_.try_emplace(place, 0);
    if (!added) return known->second;
    const State made = bytes_.add_state(is_number(place) && within(place));
    known->second = made;
    add_steps(made, place);
    return made;
  }

  static bool is_number(const Place& place) {
    return place.whole == 0 && place.point != Point::kAt;
  }

  bool within(const Place& place) const {
    const auto index = static_cast<size_t>(place.index);
    if (place.at_low && (low_.exclusive || !zeros_from(low_, index))) return false;
    return !place.at_high || !high_->exclusive || !zeros_from(*high_, index);
  }

  void add_steps(State from, const Place& place) {
    if (bytes_.full()) return;
    const bool behind_point = place.point != Point::kBefore;
    if (place.whole == 0 && place.fraction == 0) return;
    if (place.whole == 0 && !behind_point) {
      Place next = place;
      next.point = Point::kAt;
      bytes_.add_edge(from, '.', '.', state(next));
      return;
    }
    const auto index = static_cast<size_t>(place.index);
    const bool first_of_many = place.index == 0 && place.whole > 1;
    const int low = std::max(place.at_low ? digit(low_, index) : 0, first_of_many ? 1 : 0);
    const int high = place.at_high ? digit(*high_, index) : 9;
    for (int d = low; d <= high;) {
      Place next = place;
      ++next.index;
      behind_point ? --next.fraction : --next.whole;
      if (behind_point) next.point = Point::kBehind;
      next.at_low = place.at_low && d == digit(low_, index);
      next.at_high = place.at_high && d == high;
      // All digits between the limits' lead to the same.
      const int last = next.at_low || next.at_high ? d : place.at_high ? high - 1 : high;
      add_digits(bytes_, from, d, last, state(next));
      d = last + 1;
    }
  }

  ByteAutomaton& bytes_;
  const Decimal low_;
  const std::optional<Decimal> high_;
  const int whole_max_;
  const int digits_max_;
  std::map<Place, State> known_;
};

void add_range(ByteAutomaton& bytes, State start, const NumberRange& range, int whole_max,
               int digits_max) {
  const auto magnitude = [](Decimal limit) {
    limit.negative = false;
    return limit;
  };
  const bool low_negative = range.low && range.low->negative;
  const bool high_negative = range.high && range.high->negative;
  if (!high_negative) {
    const Decimal low = range.low && !low_negative ? *range.low : Decimal{};
    Magnitudes(bytes, low, range.high, whole_max, digits_max).add(start);
  }
  if (!range.low || low_negative) {
    Decimal above_zero;
    above_zero.exclusive = true;
    const State minus = bytes.add_state();
    bytes.add_edge(start, '-', '-', minus);
    Magnitudes(bytes, high_negative ? magnitude(*range.high) : above_zero,
               range.low ? std::optional(magnitude(*range.low)) : std::nullopt, whole_max,
               digits_max)
        .add(minus);
  }
}

// Up to `count` digits more behind `from`, which are final; the state is as many behind them.
std::vector<State> add_run(ByteAutomaton& bytes, State from, int count) {
  std::vector<State> states;
  for (int i = 0; i < count; ++i) {
    states.push_back(bytes.add_state(/*final=*/true));
    add_digits(bytes, from, 0, 9, states.back());
    from = states.back();
  }
  return states;
}

}  // namespace

Decimal to_decimal(const OrderedJson& json) {
  std::string text;
  if (json.is_number_float()) {
    char buffer[512];  // the smallest and largest take some 330 characters
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, json.get<double>(), std::chars_format::fixed);
    text.assign(buffer, end.ptr);
  } else {
    text = json.dump();
  }
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.erase(0, 1);
  const size_t point = text.find('.');
  decimal.whole = text.substr(0, point);
  if (point != text.npos) decimal.fraction = text.substr(point + 1);
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.is_zero()) decimal.negative = false;
  return decimal;
}

State add_integers(ByteAutomaton& bytes, const NumberRange& range) {
  const State start = bytes.add_state();
  add_range(bytes, start, range, kIntegerDigits, 0);
  return start;
}

State add_numbers(ByteAutomaton& bytes, const NumberRange& range) {
  const State start = bytes.add_state();
  if (range.low || range.high) {
    add_range(bytes, start, range, kLimitedDigits, kLimitedDigits);
    return start;
  }
  const State sign = bytes.add_state();
  bytes.add_edge(start, '-', '-', sign);
  const State zero = bytes.add_state(/*final=*/true), first = bytes.add_state(/*final=*/true);
  for (const State from : {start, sign}) {
    add_digits(bytes, from, 0, 0, zero);
    add_digits(bytes, from, 1, 9, first);
  }
  std::vector<State> ends = add_run(bytes, first, kIntegerDigits - 1);
  ends.insert(ends.end(), {zero, first});
  const State point = bytes.add_state();
  for (const State end : ends) bytes.add_edge(end, '.', '.', point);
  const std::vector<State> fractions = add_run(bytes, point, kFractionDigits);
  ends.insert(ends.end(), fractions.begin(), fractions.end());
  const State exponent = bytes.add_state(), exponent_sign = bytes.add_state();
  for (const State end : ends) {
    bytes.add_edge(end, 'e', 'e', exponent);
    bytes.add_edge(end, 'E', 'E', exponent);
  }
  bytes.add_edge(exponent, '+', '+', exponent_sign);
  bytes.add_edge(exponent, '-', '-', exponent_sign);
  const std::vector<State> digits = add_run(bytes, exponent, kExponentDigits);
  add_digits(bytes, exponent_sign, 0, 9, digits.front());
  return start;
}

}  // namespace cascade
