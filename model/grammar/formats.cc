// Patterns for the formats of JSON Schema, and for those that zod, pydantic and OpenAPI add to
// them.
#include "model/grammar/formats.h"

#include <map>
#include <utility>

namespace cascade {
namespace {

// Years 0001 to 9999, months of the right length, leap days in leap years only.
constexpr char kDate[] =
    "((000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))|"
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)";
constexpr char kTime[] =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?"
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
constexpr char kDuration[] =
    "P([0-9]{1,4}W|([0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|"
    "[0-9]{1,4}D)(T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|"
    "[0-9]{1,4}S))?|T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|"
    "[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))";
constexpr char kLabels[] = "([a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?\\.)";
constexpr char kLastLabel[] = "[a-zA-Z]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?";
// A host without limits of length, for URIs: together with maxLength, limits would take states for
// every length.
constexpr char kUriHost[] =
    "([a-zA-Z0-9]+(-[a-zA-Z0-9]+)*\\.)*[a-zA-Z][a-zA-Z0-9]*(-[a-zA-Z0-9]+)*(:[1-9][0-9]{0,3})?";
constexpr char kPathCharacter[] = "([a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})";
constexpr char kQueryCharacter[] = "([a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-F]{2})";
constexpr char kOctet[] = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
constexpr char kHex[] = "[0-9a-fA-F]";
constexpr char kPointerToken[] = "/([^~/]|~[01])*";

// A regular expression of characters, sets, classes and escapes, each perhaps repeated; no groups.
constexpr char kRegex[] =
    "\\^?(([a-zA-Z0-9 _,:;@#%&=!<>~-]|\\.|\\\\[dwsDWS.^$*+?()|\\\\/]|\\[\\^?[a-zA-Z0-9_ .,]+\\])"
    "[*+?]?)*\\$?";

using Text = std::string;

Text count(const Text& what, int min, int max) {
  return "(" + what + "){" + std::to_string(min) + "," + std::to_string(max) + "}";
}

// Eight groups, or fewer if two colons replace some (RFC 4291, section 2.2, forms 1 and 2).
Text ipv6() {
  const Text group = Text(kHex) + "{1,4}";
  Text forms = count(group + ":", 7, 7) + group;
  for (int before = 0; before <= 7; ++before) {
    const Text begin = before == 0 ? ":" : count(group + ":", before, before);
    const Text end = before == 7 ? "" : count(":" + group, 1, 7 - before) + "|";
    forms += "|" + begin + "(" + end + ":)";
  }
  return "(" + forms + ")";
}

// The form that a strict reader takes: everything after the prefix is zero.
Text ipv4_network() {
  const Text octet = kOctet, dot = "\\.";
  return "(" + octet + "(\\.0){3}/8|" + octet + dot + octet + "(\\.0){2}/16|(" + octet +
         "\\.){3}0/24|(" + octet + "\\.){3}" + octet + "(/32)?)";
}
Text ipv6_network() {
  const Text group = Text(kHex) + "{1,4}:";
  return "((" + group + "){2}:/32|(" + group + "){3}:/48|(" + group + "){4}:/64|" + ipv6() +
         "(/128)?)";
}

// The bits after the last byte are zero.
Text base64(const Text& letter) {
  return "(" + letter + "{4})*" + "(" + letter + "[AQgw]==|" + letter + "{2}[AEIMQUYcgkosw048]=)?";
}

Text uuid(const Text& version) {
  const Text hex = kHex;
  const Text variant = version.empty() ? hex : "[89abAB]";
  return hex + "{8}-" + hex + "{4}-" + (version.empty() ? hex : version) + hex + "{3}-" + variant +
         hex + "{3}-" + hex + "{12}";
}

Text uri(const Text& scheme) {
  return scheme + "://" + kUriHost + "(/" + kPathCharacter + "*)*(\\?" + kQueryCharacter + "*)?(#" +
         kQueryCharacter + "*)?";
}

// A header that names one of the usual algorithms, {"alg":"HS256","typ":"JWT"} or RS256, ES256; an
// object; a signature.
constexpr char kJwt[] =
    "eyJhbGciOiJ(IUzI1NiIs|SUzI1NiIs|FUzI1NiIs)InR5cCI6IkpXVCJ9\\.eyJ[a-zA-Z0-9_-]+\\."
    "[a-zA-Z0-9_-]+";

using Formats = std::map<std::string, TextFormat, std::less<>>;

void add(Formats& all, const char* name, const Text& pattern,
         std::optional<Text> broad = std::nullopt) {
  all[name] = {"^(" + pattern + ")$", std::move(broad)};
}

constexpr char kAnyMail[] = "^[^@\\s]+@[^@\\s]+$", kAnyUri[] = "^[a-zA-Z][a-zA-Z0-9+.-]*:\\S*$";

void add_of_networks(Formats& all) {
  const Text labels = kLabels, last = kLastLabel, octet = kOctet;
  const Text ipv4 = "((" + octet + "\\.){3}" + octet + ")";
  const Text v4_bits = "(/([12]?[0-9]|3[0-2]))?", v6_bits = "(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?";
  for (const char* name : {"email", "idn-email"}) {
    const Text person = "[a-zA-Z0-9]{1,30}([._+-][a-zA-Z0-9]{1,15}){0,2}";
    add(all, name, person + "@" + labels + "{1,5}" + last, kAnyMail);
  }
  for (const char* name : {"hostname", "idn-hostname"}) add(all, name, labels + "{0,5}" + last);
  add(all, "ipv4", ipv4);
  add(all, "ipv6", ipv6());
  add(all, "ipvanyaddress", ipv4 + "|" + ipv6());
  add(all, "ipv4interface", ipv4 + v4_bits);
  add(all, "ipv6interface", ipv6() + v6_bits);
  add(all, "ipvanyinterface", ipv4 + v4_bits + "|" + ipv6() + v6_bits);
  add(all, "ipv4network", ipv4_network());
  add(all, "ipv6network", ipv6_network());
  add(all, "ipvanynetwork", ipv4_network() + "|" + ipv6_network());
  const Text web = uri("(https?|ftp)");
  for (const char* name : {"uri", "iri", "url", "uri-template"}) add(all, name, web, kAnyUri);
  for (const char* name : {"uri-reference", "iri-reference"}) {
    add(all, name, web + "|(/" + kPathCharacter + "+)+", "^\\S*$");
  }
  add(all, "multi-host-uri", uri("[a-z][a-z0-9]*"), kAnyUri);
}

Formats make_formats() {
  Formats all;
  const Text date = kDate, time = kTime, token = kPointerToken;
  add(all, "date", date);
  add(all, "time", time);
  add(all, "date-time", date + "T" + time);
  add(all, "duration", kDuration);
  add(all, "uuid", uuid(""));
  for (const char* version : {"1", "3", "4", "5", "6", "7", "8"}) {
    add(all, (Text("uuid") + version).c_str(), uuid(version));
  }
  add_of_networks(all);
  add(all, "json-pointer", "(" + token + ")*");
  add(all, "relative-json-pointer", "(0|[1-9][0-9]{0,5})(#|(" + token + ")*)");
  add(all, "regex", kRegex);
  for (const char* name : {"base64", "byte"}) add(all, name, base64("[a-zA-Z0-9+/]"));
  add(all, "base64url", base64("[a-zA-Z0-9_-]"));
  add(all, "jwt", kJwt);
  for (const char* name : {"password", "binary", "path", "file-path", "directory-path", "int32",
                           "int64", "float", "double"}) {
    all[name] = {std::nullopt, std::nullopt};
  }
  return all;
}

const Formats& formats() {
  static const Formats all = make_formats();
  return all;
}

}  // namespace

const TextFormat* format_named(std::string_view name) {
  const auto found = formats().find(name);
  return found == formats().end() ? nullptr : &found->second;
}

std::string known_formats() {
  std::string names;
  for (const auto& [name, format] : formats()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace cascade
