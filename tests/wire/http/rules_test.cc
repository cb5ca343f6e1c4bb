// Hosts, keys, routes and metrics.
#include <gtest/gtest.h>

#include "wire/http/api_keys.h"
#include "wire/http/host_rules.h"
#include "wire/http/prometheus.h"
#include "wire/http/routes.h"

namespace cascade::http {
namespace {

TEST(HostRules, only_our_names_are_allowed) {
  const HostRules rules = host_rules({"Inference.LAN"}, /*any_address=*/false);
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]", "[::1]:8",
                           "inference.lan", "inference.lan:443"}) {
    EXPECT_TRUE(host_allowed(rules, host)) << host;
  }
  for (const char* host : {"", ":80", "evil", "localhost.evil", "10.0.0.1", "[::1", "[::1]x",
                           "127.0.0.1.evil:80", "evil:localhost"}) {
    EXPECT_FALSE(host_allowed(rules, host)) << host;
  }
}

TEST(HostRules, beyond_this_machine_addresses_are_no_names_that_were_resolved) {
  const HostRules rules = host_rules({}, /*any_address=*/true);
  EXPECT_TRUE(host_allowed(rules, "10.0.0.1:80"));
  EXPECT_TRUE(host_allowed(rules, "[fe80::1]:80"));
  EXPECT_FALSE(host_allowed(rules, "10.0.0.1.evil"));
}

TEST(HostRules, origins_of_other_sites_are_refused) {
  const HostRules rules = host_rules({"chat.example"}, false);
  EXPECT_TRUE(origin_allowed(rules, "http://localhost:8178", "localhost:8178"));
  EXPECT_TRUE(origin_allowed(rules, "https://127.0.0.1", "127.0.0.1"));
  EXPECT_TRUE(origin_allowed(rules, "http://[::1]:80", "[::1]:80"));
  for (const char* origin :
       {"null", "http://evil", "ftp://localhost:8178", "localhost:8178", "http://localhost:3000",
        "http://localhost", "http://127.0.0.1:8178"}) {
    EXPECT_FALSE(origin_allowed(rules, origin, "localhost:8178")) << origin;
  }
  EXPECT_FALSE(origin_allowed(rules, "http://evil", "evil"));
  // A proxy passes on the origin that browsers send, which names the proxy.
  EXPECT_TRUE(origin_allowed(rules, "https://Chat.Example", "127.0.0.1:8178"));
  EXPECT_TRUE(origin_allowed(rules, "https://chat.example:444", "chat.example"));
}

TEST(HostRules, sites_that_are_named_may_use_the_server) {
  const HostRules rules = host_rules({}, false, {"https://App.Example", "http://localhost:3000"});
  for (const char* origin : {"https://app.example", "http://localhost:3000"}) {
    EXPECT_TRUE(is_shared_with(rules, origin)) << origin;
    EXPECT_TRUE(origin_allowed(rules, origin, "127.0.0.1:8178")) << origin;
  }
  for (const char* origin : {"https://app.example:443", "http://app.example", "null", "*", "",
                             "https://app.example.evil", "http://localhost:3001"}) {
    EXPECT_FALSE(is_shared_with(rules, origin)) << origin;
  }
  // the daemon's own page needs no sharing: origin_allowed() allows it
  EXPECT_FALSE(is_shared_with(rules, "http://127.0.0.1:8178"));
  const HostRules all = host_rules({}, false, {"*"});
  EXPECT_TRUE(is_shared_with(all, "https://anything"));
  EXPECT_TRUE(is_shared_with(all, "null"));
  EXPECT_FALSE(host_allowed(all, "evil"));
}

TEST(HostRules, keys_are_read_from_bearer_tokens) {
  EXPECT_EQ(bearer_key("Bearer abc"), "abc");
  EXPECT_EQ(bearer_key("BEARER  abc "), "abc");
  for (const char* header : {"", "Bearer", "Bearer ", "Bearer   ", "Basic abc", "abc"}) {
    EXPECT_EQ(bearer_key(header), "") << header;
  }
}

TEST(ApiKeys, a_key_is_of_the_tenant_whose_line_it_made) {
  const std::string alice = new_api_key(), bob = new_api_key(), again = new_api_key();
  EXPECT_NE(alice, bob);
  const auto keys = ApiKeys::parse("# ours\n\n" + api_key_line("alice", alice) + "\r\n  " +
                                   api_key_line("bob", bob) + "\n" + api_key_line("alice", again));
  ASSERT_TRUE(keys.ok()) << keys.error().to_string();
  EXPECT_EQ(keys->tenant_of(alice), "alice");
  EXPECT_EQ(keys->tenant_of(again), "alice");
  EXPECT_EQ(keys->tenant_of(bob), "bob");
  EXPECT_EQ(keys->tenant_of(""), std::nullopt);
  EXPECT_EQ(keys->tenant_of(bob + "x"), std::nullopt);
}

TEST(ApiKeys, a_line_that_is_wrong_is_named) {
  const std::string hash(64, 'a');
  const std::vector<std::string> wrong = {
      "alice", "alice xyz", "Alice " + hash, "alice " + hash + "0", "a/b " + hash, hash};
  for (const std::string& line : wrong) {
    const auto keys = ApiKeys::parse("\n" + line);
    ASSERT_FALSE(keys.ok()) << line;
    EXPECT_EQ(keys.error().field, "line 2");
  }
}

TEST(Routes, each_is_found_and_no_other) {
  for (const Route& route : routes()) {
    std::string path(route.path);
    const size_t id = path.find("{id}");
    if (id != std::string::npos) path.replace(id, 4, "a%20b");
    const RouteMatch match = find_route(route.method, path);
    EXPECT_EQ(match.result, RouteMatch::Result::kFound) << path;
    EXPECT_EQ(match.action, route.action) << path;
    if (id != std::string::npos) {
      EXPECT_EQ(match.id, "a b");
    }
    EXPECT_EQ(find_route("TRACE", path).result, RouteMatch::Result::kNoMethod);
  }
  for (const char* path : {"/", "", "/v1", "/v1/chunks/", "/v1/chunks//", "/v1/chunks/a/b",
                           "/v1/responses/x/input_items/y", "//health"}) {
    const bool known = path == std::string("/v1/chunks/") || path == std::string("/");
    EXPECT_EQ(find_route("PUT", path).result,
              known ? RouteMatch::Result::kNoMethod : RouteMatch::Result::kNoPath)
        << path;
  }
  EXPECT_EQ(find_route("HEAD", "/health").result, RouteMatch::Result::kFound);
}

TEST(Routes, queries_are_pairs) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_query("a=1&b=x%20y&&c&d=="),
            (Pairs{{"a", "1"}, {"b", "x y"}, {"c", ""}, {"d", "="}}));
  EXPECT_EQ(percent_decoded("%41%zz%4"), "A%zz%4");
}

TEST(Prometheus, histograms_count_up_to_each_bound) {
  Histogram values({1, 2});
  values.add(0.5);
  values.add(1);
  values.add(1.5, 2);
  values.add(9);
  MetricsText out;
  out.histogram("x_seconds", "help", values);
  EXPECT_EQ(out.text(),
            "# HELP x_seconds help\n# TYPE x_seconds histogram\nx_seconds_bucket{le=\"1\"} 2\n"
            "x_seconds_bucket{le=\"2\"} 4\nx_seconds_bucket{le=\"+Inf\"} 5\nx_seconds_sum 13.5\n"
            "x_seconds_count 5\n");
}

TEST(Prometheus, label_values_are_escaped) {
  MetricsText out;
  out.sample("x", {{"a", "q\"\\\n"}, {"b", ""}}, 0.1);
  EXPECT_EQ(out.text(), "x{a=\"q\\\"\\\\\\n\",b=\"\"} 0.1\n");
}

}  // namespace
}  // namespace cascade::http
