// Builds numbers digit by digit, comparing with the digits of the limits.
#include "model/grammar/numbers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/exact_number.h"

namespace cascade {
namespace {

using State = ByteAutomaton::State;

constexpr int kIntegerDigits = 20, kFractionDigits = 16, kExponentDigits = 2;
// The digits of a number with a fraction, within limits: f64 can tell numbers of this length apart.
constexpr int kLimitedDigits = 15;
// The largest number of digits of a step's factor. With more, a remainder times ten would not fit
// 64 bits.
constexpr size_t kFactorDigits = 18;

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

// 10^power mod `modulus`.
uint64_t power_of_ten(int power, uint64_t modulus) {
  uint64_t result = 1 % modulus;
  for (int i = 0; i < power; ++i) result = result * 10 % modulus;
  return result;
}

// Numbers without a sign within [low, high].
class Magnitudes {
 public:
  Magnitudes(ByteAutomaton& bytes, const NumberRange& range, bool fractions)
      : bytes_(bytes),
        low_(range.low.value_or(Decimal{})),
        high_(range.high),
        step_(range.step),
        no_integers_(range.no_integers),
        fractions_(fractions) {
    // No number that the grammar can write is above such a limit.
    if (high_ && high_->whole.size() > kNumberDigitsMax) high_.reset();
  }

  void add(State from) {
    const size_t whole_max = this->whole_max();
    for (size_t whole = low_.whole.size(); whole <= whole_max; ++whole) {
      Place place;
      place.whole = static_cast<int>(whole);
      place.at_low = whole == low_.whole.size();
      place.at_high = high_ && whole == high_->whole.size();
      place.fraction = fraction_max(place);
      place.places = place.fraction;
      add_steps(from, place);
    }
  }

 private:
  // A place in a number. `index` digits were read, and `whole` more come before the point. After
  // the point there may be `places` digits in all, of which `fraction` are left. While `at_low`
  // (`at_high`), the digits so far are those of the lower (upper) limit. `sum` is the sum of the
  // digits, each times the value of its place, modulo the step's factor.
  struct Place {
    int index = 0;
    int whole = 0;
    int fraction = 0;
    int places = 0;
    uint64_t sum = 0;
    bool at_low = false;
    bool at_high = false;
    bool has_fraction = false;  // true if a digit after the point is not 0
    enum class Point : uint8_t { kBefore, kAt, kBehind } point = Point::kBefore;
    auto operator<=>(const Place&) const = default;
  };
  using Point = Place::Point;

  // The largest number of digits before the point: those of the upper limit. If there is no upper
  // limit, or there is a step (which takes states for each digit), it is the number of digits that
  // ids need, or one more than the lower limit or the step has, so that there are numbers above it.
  size_t whole_max() const {
    if (high_ && !step_) return high_->whole.size();
    size_t digits = std::max<size_t>(kIntegerDigits, low_.whole.size() + 1);
    if (step_) {
      const int of_step = static_cast<int>(std::to_string(step_->factor).size()) + step_->exponent;
      if (of_step < static_cast<int>(kNumberDigitsMax)) {
        digits = std::max(digits, static_cast<size_t>(std::max(0, of_step + 1)));
      }
    }
    return high_ ? std::min(digits, high_->whole.size()) : digits;
  }

  // The largest number of digits after the point. If a limit has more digits than usual, one more
  // is allowed, so that there are numbers next to the limit.
  int fraction_max(const Place& place) const {
    if (!fractions_) return 0;
    int most = std::max(0, kLimitedDigits - place.whole);
    const auto make_room = [&](const Decimal& limit) {
      const size_t digits = limit.whole.size() + limit.fraction.size();
      if (digits <= static_cast<size_t>(kLimitedDigits) || digits > kNumberDigitsMax) return;
      if (!limit.fraction.empty()) {
        most = std::max(most, static_cast<int>(limit.fraction.size()) + 1);
      }
    };
    if (place.at_low) make_room(low_);
    if (place.at_high) make_room(*high_);
    return step_ ? std::min(most, std::max(0, -step_->exponent)) : most;
  }

  State state(Place place) {
    if (!place.at_low && !place.at_high) place.index = 1;  // no longer matters
    if (!no_integers_) place.has_fraction = false;         // does not matter
    if (!step_) place.places = 0;
    const auto [known, added] = known_.try_emplace(place, 0);
    if (!added) return known->second;
    const State made = bytes_.add_state(is_number(place) && within(place));
    known->second = made;
    add_steps(made, place);
    return made;
  }

  bool is_number(const Place& place) const {
    return place.whole == 0 && place.point != Point::kAt && place.sum == 0 &&
           (place.has_fraction || !no_integers_);
  }

  bool within(const Place& place) const {
    const auto index = static_cast<size_t>(place.index);
    if (place.at_low && (low_.exclusive || !zeros_from(low_, index))) return false;
    return !place.at_high || !high_->exclusive || !zeros_from(*high_, index);
  }

  // Reads the digit `d` in `place`; nullopt if the step does not allow it there.
  std::optional<Place> behind_digit(Place place, int d) const {
    const bool behind_point = place.point != Point::kBefore;
    const int power = behind_point ? place.fraction - place.places - 1 : place.whole - 1;
    if (step_ && power < step_->exponent) {
      if (d != 0) return std::nullopt;
    } else if (step_) {
      const uint64_t worth = power_of_ten(power - step_->exponent, step_->factor);
      place.sum = (place.sum + static_cast<uint64_t>(d) * worth) % step_->factor;
    }
    ++place.index;
    behind_point ? --place.fraction : --place.whole;
    if (behind_point) place.point = Point::kBehind;
    place.has_fraction = place.has_fraction || (behind_point && d != 0);
    return place;
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
    // Neighbouring digits that lead to the same state become one edge.
    int first = low;
    std::optional<State> target;
    for (int d = low; d <= high; ++d) {
      std::optional<State> to;
      if (auto next = behind_digit(place, d)) {
        next->at_low = place.at_low && d == digit(low_, index);
        next->at_high = place.at_high && d == high;
        to = state(*next);
      }
      if (to == target) continue;
      if (target) add_digits(bytes_, from, first, d - 1, *target);
      first = d;
      target = to;
    }
    if (target) add_digits(bytes_, from, first, high, *target);
  }

  ByteAutomaton& bytes_;
  const Decimal low_;
  std::optional<Decimal> high_;
  const std::optional<NumberStep> step_;
  const bool no_integers_;
  const bool fractions_;
  std::map<Place, State> known_;
};

void add_range(ByteAutomaton& bytes, State start, const NumberRange& range, bool fractions) {
  const auto magnitude = [](Decimal limit) {
    limit.negative = false;
    return limit;
  };
  const bool low_negative = range.low && range.low->negative;
  const bool high_negative = range.high && range.high->negative;
  if (!high_negative) {
    NumberRange positive = range;
    if (low_negative) positive.low.reset();
    Magnitudes(bytes, positive, fractions).add(start);
  }
  if (!range.low || low_negative) {
    Decimal above_zero;
    above_zero.exclusive = true;
    const State minus = bytes.add_state();
    bytes.add_edge(start, '-', '-', minus);
    NumberRange negative = range;
    negative.low = high_negative ? magnitude(*range.high) : above_zero;
    negative.high = range.low ? std::optional(magnitude(*range.low)) : std::nullopt;
    Magnitudes(bytes, negative, fractions).add(minus);
  }
}

// Adds up to `count` more digits after `from`, each of which may be the last. Returns the state
// after each digit.
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
  std::string text = dump_exact(json);
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.erase(0, 1);
  int exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != text.npos) {
    exponent = std::stoi(text.substr(e + 1));
    text.erase(e);
  }
  size_t point = std::min(text.find('.'), text.size());
  if (point < text.size()) text.erase(point, 1);
  // Moves the point. Zeros fill the places between the digits and a point beyond them.
  if (exponent < 0) {
    const auto left = static_cast<size_t>(-exponent);
    if (left >= point) text.insert(0, left - point + 1, '0');
    point = left >= point ? 1 : point - left;
  } else {
    point += static_cast<size_t>(exponent);
    if (point > text.size()) text.append(point - text.size(), '0');
  }
  decimal.whole = text.substr(0, point);
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), point - 1));
  decimal.fraction = text.substr(point);
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.is_zero()) decimal.negative = false;
  return decimal;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const auto magnitude = [&] {
    if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
    // Fractions without trailing zeros compare as texts do.
    const int whole = a.whole.compare(b.whole);
    return whole != 0 ? whole : a.fraction.compare(b.fraction);
  }();
  return a.negative ? -magnitude : magnitude;
}

std::optional<NumberStep> to_step(const Decimal& decimal) {
  if (decimal.negative || decimal.is_zero()) return std::nullopt;
  std::string digits = decimal.whole + decimal.fraction;
  NumberStep step;
  step.exponent = -static_cast<int>(decimal.fraction.size());
  const size_t last = digits.find_last_not_of('0');
  step.exponent += static_cast<int>(digits.size() - 1 - last);
  digits.erase(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.size() > kFactorDigits) return std::nullopt;
  step.factor = std::stoull(digits);
  return step;
}

std::optional<NumberStep> common_step(const NumberStep& a, const NumberStep& b) {
  const NumberStep& fine = a.exponent <= b.exponent ? a : b;
  const NumberStep& coarse = a.exponent <= b.exponent ? b : a;
  // A factor above kMax is over every limit, unless it is large only because of powers of ten.
  constexpr uint64_t kMax = uint64_t{1} << 58;
  uint64_t factor = coarse.factor;
  for (int i = fine.exponent; i < coarse.exponent; ++i) {
    if (factor > kMax / 10) return std::nullopt;
    factor *= 10;
  }
  const uint64_t other = fine.factor / std::gcd(fine.factor, factor);
  if (factor > kMax / other) return std::nullopt;
  NumberStep step = {factor * other, fine.exponent};
  for (; step.factor % 10 == 0; step.factor /= 10) ++step.exponent;
  return step;
}

bool is_within_limits(const NumberStep& step) {
  uint64_t rest = step.factor;
  for (const uint64_t prime : {2, 5}) {
    while (rest % prime == 0) rest /= prime;
  }
  return step.factor <= kStepFactorMax && rest <= kStepRemaindersMax;
}

bool is_multiple(const Decimal& number, const NumberStep& step) {
  uint64_t sum = 0;
  const auto whole = static_cast<int>(number.whole.size());
  const std::string digits = number.whole + number.fraction;
  int power = whole;
  for (const char c : digits) {
    --power;
    if (power >= step.exponent) {
      sum = (sum * 10 + static_cast<uint64_t>(c - '0')) % step.factor;
    } else if (c != '0') {
      return false;
    }
  }
  for (; power > step.exponent; --power) sum = sum * 10 % step.factor;
  return sum == 0;
}

State add_integers(ByteAutomaton& bytes, const NumberRange& range) {
  const State start = bytes.add_state();
  add_range(bytes, start, range, /*fractions=*/false);
  return start;
}

State add_numbers(ByteAutomaton& bytes, const NumberRange& range) {
  const State start = bytes.add_state();
  if (range.low || range.high || range.step || range.no_integers) {
    add_range(bytes, start, range, /*fractions=*/true);
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
