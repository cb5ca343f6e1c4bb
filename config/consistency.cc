// One check for each group of settings.
#include "config/consistency.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/attention_mode.h"
#include "base/context_extension.h"
#include "base/endpoint.h"
#include "base/model_name.h"
#include "base/sanitized.h"
#include "base/tenant.h"
#include "config/model_choice.h"

namespace cascade::config {
namespace {

constexpr size_t kTenantsMax = 64;      // each has a thread and a socket
constexpr size_t kTenantBytesMax = 32;  // of a name: it is part of a path of 107 bytes

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

// Whether `text` is an origin as browsers write it: a scheme and a host, with or without a port.
bool is_origin(std::string_view text) {
  constexpr size_t kBytesMax = 300;  // a host name has at most 253
  const size_t colon = text.find("://");
  if (colon == 0 || colon == text.npos || text.size() > kBytesMax) return false;
  const std::string_view scheme = text.substr(0, colon), rest = text.substr(colon + 3);
  const bool good_rest = !rest.empty() && rest.front() != ':' && rest.back() != ':' &&
                         rest.find_first_not_of(std::string(kPlain) + ":[]") == rest.npos;
  return good_rest && scheme.find_first_not_of(std::string(kPlain) + "+") == scheme.npos;
}

// Programs use model names with slashes and colons too: "openai/gpt-4o", "llama3:8b".
bool is_alias(std::string_view text) {
  constexpr size_t kBytesMax = 128;
  return !text.empty() && text.size() <= kBytesMax && text.find_first_of("\n\t") == text.npos &&
         sanitized(text) == text;
}

class Checker {
 public:
  Checker(const Values& values, const Place& place) : values_(values), place_(place) {}

  std::vector<Error> run() {
    if (!given("model")) wrong("model", "is missing: the folder of the model to serve");
    for (const char* name : {"model", "models-dir", "run-dir", "http", "tcp"}) {
      if (given(name) && text(name).empty()) wrong(name, "must not be empty");
    }
    if (given("max-model-memory")) needs("max-model-memory", "models-dir");
    check_attention();
    check_models();
    check_tenants();
    check_endpoints();
    check_http();
    check_tcp();
    check_memory();
    return std::move(wrong_);
  }

 private:
  bool given(std::string_view name) const { return values_.contains(name); }
  // The first text of the setting; "" if it was not given.
  std::string text(std::string_view name) const {
    const auto found = values_.find(name);
    const bool none = found == values_.end() || found->second.texts.empty();
    return none ? std::string() : found->second.texts.front();
  }
  bool empty(std::string_view name) const { return text(name).empty(); }

  void wrong(std::string_view name, const std::string& message,
             ErrorCode code = ErrorCode::kInvalidArgument) {
    const auto found = values_.find(name);
    const std::string flag = flag_of(*find_setting(name));
    wrong_.push_back(Error{code, found == values_.end() ? flag : found->second.origin, message});
  }

  void needs(std::string_view name, std::string_view other) {
    if (empty(other)) wrong(name, "needs " + flag_of(*find_setting(other)));
  }

  std::string endpoint() const {
    return given("endpoint") ? text("endpoint") : default_endpoint(run_dir());
  }
  std::string run_dir() const { return empty("run-dir") ? place_.run_dir : text("run-dir"); }

  // Tenants' names become parts of file names and of printed text.
  void check_tenants() {
    const auto found = values_.find("tenant");
    if (found == values_.end()) return;
    const std::vector<std::string>& tenants = found->second.texts;
    if (tenants.size() > kTenantsMax) {
      wrong("tenant", "is there " + std::to_string(tenants.size()) + " times; the limit is " +
                          std::to_string(kTenantsMax));
      return;
    }
    for (auto tenant = tenants.begin(); tenant != tenants.end(); ++tenant) {
      const bool plain =
          tenant->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == tenant->npos;
      if (tenant->empty() || tenant->size() > kTenantBytesMax || !plain) {
        wrong("tenant", "must have 1 to " + std::to_string(kTenantBytesMax) +
                            " of a-z, 0-9, _ and -, got \"" + *tenant + '"');
      } else if (*tenant == kLocalTenant || std::find(tenants.begin(), tenant, *tenant) != tenant) {
        wrong("tenant", '"' + *tenant + "\" exists already");
      } else if (tenant_endpoint(run_dir(), *tenant) == endpoint()) {
        wrong("endpoint", "is the socket of the tenant \"" + *tenant + '"');
      } else {
        const Status good = check_endpoint(tenant_endpoint(run_dir(), *tenant));
        if (!good.ok()) wrong("tenant", good.error().message, good.error().code);
      }
    }
  }

  void check_endpoints() {
    if (!empty("run-dir") && !text("run-dir").starts_with('/')) {
      return wrong("run-dir", "must be an absolute path, got \"" + text("run-dir") + '"');
    }
    const Status good = check_endpoint(endpoint());
    if (!good.ok()) {
      wrong(given("endpoint") ? "endpoint" : "run-dir", good.error().message, good.error().code);
    }
  }

  void check_http() {
    if (given("http") && empty("http")) return;
    check_origins();
    check_aliases();
    if (!given("http")) {
      if (place_.inherits_sockets) return;
      if (!empty("http-keys")) needs("http-keys", "http");
      for (const char* name : {"http-host", "http-origin", "http-model-alias"}) {
        if (!empty(name)) needs(name, "http");
      }
      return;
    }
    const std::string address = with_host(text("http"));
    const auto local = is_local_address(address);
    if (!local.ok()) {
      wrong("http", local.error().message);
    } else if (address.starts_with(kUnixAddress) &&
               "ipc://" + address.substr(kUnixAddress.size()) == endpoint()) {
      wrong("http", "is the socket that ZeroMQ clients connect to");
    } else if (!*local && empty("http-keys")) {
      wrong("http", address + " can be reached from other machines: this needs --http-keys");
    }
  }

  const std::vector<std::string>& all(std::string_view name) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second.texts;
  }

  void check_origins() {
    for (const std::string& origin : all("http-origin")) {
      if (origin == "*") {
        if (empty("http-keys")) {
          wrong("http-origin",
                "* lets pages of every site use the model: this needs --http-keys. Or name the "
                "sites");
        }
        const auto local = given("http") ? is_local_address(with_host(text("http"))) : true;
        if (local.ok() && !*local) {
          wrong("http-origin", "* is allowed only with addresses of this machine; name the sites");
        }
      } else if (!is_origin(origin)) {
        wrong("http-origin",
              "must be * or SCHEME://HOST[:PORT], such as https://app.example or "
              "http://localhost:3000, got \"" +
                  origin + '"');
      }
    }
  }

  // Checks a setting that has at most one value for each model. `problem` says what is wrong with a
  // value, or "".
  template <class Problem>
  void check_choices(std::string_view name, const Problem& problem) {
    std::set<std::string> models;
    for (const std::string& given : all(name)) {
      const ModelChoice choice = model_choice(given);
      const std::string model = choice.model.empty() ? "the default model" : choice.model;
      const std::string only_model = model_name_of_path(text("model"));
      if (const std::string why = problem(choice.value, given); !why.empty()) {
        wrong(name, why);
      } else if (!choice.model.empty() && empty("models-dir") && choice.model != only_model) {
        wrong(name, "is for the model \"" + choice.model + "\", but the only model is \"" +
                        only_model + "\": without models_dir there are no others");
      } else if (!models.insert(model).second) {
        wrong(name, "is given twice for " + model);
      }
    }
  }

  void check_attention() {
    if (!given("attention")) return;
    const auto choice = parse_attention(text("attention"));
    if (!choice.ok()) wrong("attention", choice.error().message);
  }

  void check_models() {
    check_choices("chat-template", [](const std::string& file, const std::string& given) {
      return file.empty() ? "must be FILE or NAME=FILE, got \"" + given + '"' : "";
    });
    check_choices("rope-scaling", [](const std::string& scaling, const std::string&) {
      const auto parsed = parse_context_extension(scaling);
      return parsed.ok() ? "" : parsed.error().message;
    });
  }

  // An alias is a name that requests use for the model; it is never part of a path of ours.
  void check_aliases() {
    std::set<std::string> aliases;
    for (const std::string& given : all("http-model-alias")) {
      const size_t equals = std::min(given.find('='), given.size());
      const std::string alias = given.substr(0, equals);
      const std::string name = given.substr(std::min(equals + 1, given.size()));
      if (!is_alias(alias) || !is_model_name(name)) {
        wrong("http-model-alias",
              "must be ALIAS=NAME, such as gpt-4o=default, got \"" + given + '"');
      } else if (!aliases.insert(alias).second) {
        wrong("http-model-alias", '"' + alias + "\" is given twice");
      }
    }
  }

  void check_tcp() {
    if (given("tcp") && empty("tcp")) return;
    for (const char* name : {"tcp-key", "tcp-clients"}) {
      if (given("tcp")) needs("tcp", name);
      if (!empty(name)) needs(name, "tcp");
    }
    if (!given("tcp")) return;
    const auto address = parse_tcp_address(with_host(text("tcp")));
    if (!address.ok()) {
      wrong("tcp", "must be ADDRESS:PORT such as 127.0.0.1:8179, got \"" + text("tcp") + '"');
    } else if (address->port != 0 && with_host(text("tcp")) == with_host(text("http"))) {
      wrong("tcp", "is the address of --http");
    }
  }

  void check_memory() {
    for (const char* name : {"kv-memory", "state-memory"}) {
      if (!given(name) || place_.memory_bytes == 0) continue;
      const auto bytes = parse_size("", text(name));
      if (!bytes.ok() || *bytes <= place_.memory_bytes) continue;
      wrong(name, "must be at most " + std::to_string(place_.memory_bytes >> 20) +
                      "M, the memory that the process may have (the weights take some of it, "
                      "too), got \"" +
                      text(name) + '"');
    }
  }

  const Values& values_;
  const Place& place_;
  std::vector<Error> wrong_;
};

}  // namespace

std::vector<Error> find_contradictions(const Values& values, const Place& place) {
  return Checker(values, place).run();
}

}  // namespace cascade::config
