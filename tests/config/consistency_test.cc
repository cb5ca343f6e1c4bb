// Settings that are each valid but do not go together.
#include "config/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Values values_of(const std::map<std::string, std::vector<std::string>>& texts) {
  Values values = {{"model", {{"/m"}, "--model"}}};
  for (const auto& [name, all] : texts) {
    EXPECT_TRUE(check(*find_setting(name), all, name).ok()) << name;
    values[name] = {all, "x.toml:7: " + key_of(*find_setting(name))};
  }
  return values;
}

// The problems as they are printed.
std::vector<std::string> wrong(const std::map<std::string, std::vector<std::string>>& texts,
                               bool inherits_sockets = false) {
  std::vector<std::string> all;
  for (const Error& error :
       find_contradictions(values_of(texts), {"/run/cascaded", inherits_sockets})) {
    all.push_back(error.to_string());
  }
  return all;
}

TEST(Consistency, of_no_settings_and_of_good_ones_is_given) {
  EXPECT_THAT(wrong({}), IsEmpty());
  EXPECT_THAT(wrong({{"model", {"/m"}},
                     {"models-dir", {"/models"}},
                     {"max-model-memory", {"2G"}},
                     {"tenant", {"web", "mail"}},
                     {"http", {"8178"}},
                     {"http-host", {"box.lan"}},
                     {"tcp", {"0.0.0.0:8179"}},
                     {"tcp-key", {"/k"}},
                     {"tcp-clients", {"/c"}},
                     {"endpoint", {"ipc:///run/x.sock"}}}),
              IsEmpty());
}

TEST(Consistency, of_origins_and_aliases_is_checked) {
  const auto with = [](std::map<std::string, std::vector<std::string>> more) {
    more.insert({"http", {"8178"}});
    return wrong(more);
  };
  EXPECT_THAT(with({{"http-origin",
                     {"https://app.example", "http://localhost:3000", "http://[::1]:80",
                      "chrome-extension://abcdef", "app://obsidian.md"}},
                    {"http-model-alias",
                     {"gpt-4o=default", "openai/gpt-4o:mini=demo", "mein gpt=Gro\xC3\xA9 (2)"}}}),
              IsEmpty());
  for (const char* origin : {"app.example", "https://", "https://a/b", "https://a/", "://a", "",
                             "https://a b", "https://*.example", "https://:80", "https://a:"}) {
    EXPECT_EQ(with({{"http-origin", {origin}}}).size(), 1u) << origin;
  }
  for (const char* alias : {"gpt-4o", "=demo", "a=", "a\nb=demo", "a=../x", "a=\x1b", ""}) {
    EXPECT_EQ(with({{"http-model-alias", {alias}}}).size(), 1u) << alias;
  }
  EXPECT_EQ(with({{"http-model-alias", {"a=demo", "a=default"}}}).size(), 1u);
  // Pages of every site are allowed only if they must show a key, and only on this machine.
  EXPECT_THAT(with({{"http-origin", {"*"}}, {"http-keys", {"/k"}}}), IsEmpty());
  EXPECT_EQ(with({{"http-origin", {"*"}}}).size(), 1u);
  EXPECT_EQ(with({{"http-origin", {"*"}}, {"http-keys", {"/k"}}, {"http", {"0.0.0.0:80"}}}).size(),
            1u);
  EXPECT_THAT(
      with({{"http-origin", {"https://a"}}, {"http-keys", {"/k"}}, {"http", {"0.0.0.0:80"}}}),
      IsEmpty());
  // Neither setting means anything without HTTP.
  EXPECT_EQ(wrong({{"http-origin", {"https://a"}}}).size(), 1u);
  EXPECT_EQ(wrong({{"http-model-alias", {"a=demo"}}}).size(), 1u);
}

TEST(Consistency, of_what_is_chosen_for_single_models_is_checked) {
  EXPECT_THAT(wrong({{"models-dir", {"/models"}},
                     {"chat-template", {"a.jinja", "other=b.jinja"}},
                     {"rope-scaling", {"yarn:4:32768", "other=linear:2"}}}),
              IsEmpty());
  EXPECT_THAT(wrong({{"rope-scaling", {"m=linear:2"}}}), IsEmpty()) << "the default model is /m";
  EXPECT_THAT(wrong({{"rope-scaling", {"other=linear:2"}}}),
              ElementsAre("invalid_argument: x.toml:7: rope_scaling: is for the model \"other\", "
                          "but the only model is \"m\": without models_dir there are no others"));
  EXPECT_THAT(wrong({{"rope-scaling", {"other=yarn:1"}}}),
              ElementsAre("invalid_argument: x.toml:7: rope_scaling: FACTOR must be more than 1 "
                          "and at most 1000, got \"yarn:1\""));
  EXPECT_THAT(wrong({{"rope-scaling", {"yarn:2", "default=yarn:4"}}}),
              ElementsAre("invalid_argument: x.toml:7: rope_scaling: is given twice for the "
                          "default model"));
  EXPECT_THAT(wrong({{"chat-template", {"other="}}}),
              ElementsAre("invalid_argument: x.toml:7: chat_template: must be FILE or NAME=FILE, "
                          "got \"other=\""));
}

TEST(Consistency, of_the_attention_mode_is_checked) {
  for (const char* mode :
       {"dense", "window", "window:128", "window:4096:0", "select:64", "verify:64:2"}) {
    EXPECT_THAT(wrong({{"attention", {mode}}}), IsEmpty()) << mode;
  }
  EXPECT_THAT(wrong({{"attention", {"window:63"}}}),
              ElementsAre("invalid_argument: x.toml:7: attention: the window W must be a whole "
                          "number from 64 to 1048576, got \"63\""));
  EXPECT_EQ(wrong({{"attention", {""}}}).size(), 1u);
}

TEST(Consistency, is_broken_by_a_model_that_is_missing) {
  const std::vector<Error> found = find_contradictions({}, {"/run/cascaded", false});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].to_string(),
            "invalid_argument: --model: is missing: the folder of the model to serve");
}

TEST(Consistency, is_broken_by_more_memory_than_there_is) {
  Values values = values_of({{"kv-memory", {"4G"}}});
  const auto found = [&](int64_t memory_bytes) {
    return find_contradictions(values, {"/run/cascaded", false, memory_bytes});
  };
  EXPECT_THAT(found(0), IsEmpty()) << "it is not known";
  EXPECT_THAT(found(int64_t{4} << 30), IsEmpty());
  const std::vector<Error> more = found((int64_t{4} << 30) - 1);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].to_string(),
            "invalid_argument: x.toml:7: kv_memory: must be at most 4095M, the memory that the "
            "process may have (the weights take some of it, too), got \"4G\"");
  values = values_of({{"state-memory", {"4G"}}});
  EXPECT_THAT(found(int64_t{4} << 30), IsEmpty());
  EXPECT_EQ(found((int64_t{4} << 30) - 1).size(), 1u);
}

TEST(Consistency, is_broken_by_two_that_listen_at_one_place) {
  const std::string own = "ipc:///run/cascaded/tenant-a.sock";
  EXPECT_EQ(wrong({{"tenant", {"a"}}, {"endpoint", {own}}}).size(), 1u);
  EXPECT_THAT(wrong({{"tenant", {"b"}}, {"endpoint", {own}}}), IsEmpty());
  EXPECT_EQ(wrong({{"http", {"unix:/run/cascaded/cascaded.sock"}}}).size(), 1u);
  EXPECT_THAT(wrong({{"http", {"unix:/run/cascaded/http.sock"}}}), IsEmpty());
  const auto both = [](const std::string& http, const std::string& tcp) {
    return wrong({{"http", {http}}, {"tcp", {tcp}}, {"tcp-key", {"/k"}}, {"tcp-clients", {"/c"}}});
  };
  EXPECT_EQ(both("8178", "127.0.0.1:8178").size(), 1u);
  EXPECT_THAT(both("8178", "8179"), IsEmpty());
  EXPECT_THAT(both("127.0.0.1:0", "127.0.0.1:0"), IsEmpty()) << "any port that is free";
}

TEST(Consistency, is_broken_by_texts_that_must_not_be_empty) {
  for (const char* name : {"model", "models-dir", "run-dir", "http", "tcp"}) {
    const std::string key = key_of(*find_setting(name));
    EXPECT_THAT(wrong({{name, {""}}}),
                ElementsAre("invalid_argument: x.toml:7: " + key + ": must not be empty"));
  }
  EXPECT_THAT(wrong({{"state-dir", {""}}}), IsEmpty()) << "the daemon keeps nothing on disk";
}

TEST(Consistency, is_broken_by_a_setting_that_needs_another) {
  const auto needs = [](const std::string& key, const std::string& other) {
    return "invalid_argument: x.toml:7: " + key + ": needs --" + other;
  };
  EXPECT_THAT(wrong({{"max-model-memory", {"1G"}}}),
              ElementsAre(needs("max_model_memory", "models-dir")));
  EXPECT_THAT(wrong({{"http-keys", {"/k"}}, {"http-host", {"h"}}}),
              ElementsAre(needs("http_keys", "http"), needs("http_host", "http")));
  EXPECT_THAT(wrong({{"http-host", {}}, {"tenant", {}}}), IsEmpty());
  EXPECT_THAT(wrong({{"http-keys", {"/k"}}, {"http-host", {"h"}}}, /*inherits_sockets=*/true),
              IsEmpty());
  EXPECT_THAT(wrong({{"tcp", {"1"}}}),
              ElementsAre(needs("tcp", "tcp-key"), needs("tcp", "tcp-clients")));
  EXPECT_THAT(wrong({{"tcp-key", {"/k"}}}), ElementsAre(needs("tcp_key", "tcp")));
}

TEST(Consistency, is_broken_by_addresses_that_are_none_or_open_without_keys) {
  const auto count = [](const std::string& name, const std::string& text) {
    return wrong({{name, {text}}, {"tcp-key", {"/k"}}, {"tcp-clients", {"/c"}}}).size();
  };
  EXPECT_THAT(wrong({{"http", {"0.0.0.0:1"}}}),
              ElementsAre("invalid_argument: x.toml:7: http: 0.0.0.0:1 can be reached from "
                          "other machines: this needs --http-keys"));
  EXPECT_THAT(wrong({{"http", {"0.0.0.0:1"}}, {"http-keys", {"/k"}}}), IsEmpty());
  for (const char* text : {"x", "1:2", "localhost", "99999", "127.0.0.1:99999", "unix:"}) {
    EXPECT_EQ(wrong({{"http", {text}}}).size(), 1u) << text;
    EXPECT_EQ(count("tcp", text), 1u) << text;
  }
  EXPECT_EQ(count("tcp", "unix:/x"), 1u);
  EXPECT_EQ(count("tcp", "0.0.0.0:1"), 0u) << "always encrypted";
}

TEST(Consistency, is_broken_by_names_of_tenants) {
  for (const std::string& name :
       std::vector<std::string>{"", "A", "a b", "a/b", "local", "ö", std::string(33, 'a')}) {
    EXPECT_EQ(wrong({{"tenant", {"web", name}}}).size(), 1u) << name;
  }
  EXPECT_THAT(wrong({{"tenant", {"a", "b", "a"}}}),
              ElementsAre("invalid_argument: x.toml:7: tenant: \"a\" exists already"));
  std::vector<std::string> many;
  for (int i = 0; i < 65; ++i) many.push_back("t" + std::to_string(i));
  EXPECT_EQ(wrong({{"tenant", many}}).size(), 1u);
  many.pop_back();
  EXPECT_THAT(wrong({{"tenant", many}}), IsEmpty());
}

TEST(Consistency, is_broken_by_sockets_with_long_or_other_paths) {
  EXPECT_EQ(wrong({{"endpoint", {"tcp://127.0.0.1:1"}}}).size(), 1u);
  EXPECT_EQ(wrong({{"endpoint", {""}}}).size(), 1u);
  EXPECT_EQ(wrong({{"run-dir", {"run"}}}).size(), 1u);
  const std::string deep = "/" + std::string(86, 'x');  // and "/cascaded.sock"
  EXPECT_EQ(wrong({{"run-dir", {deep}}}).size(), 1u);
  const std::string less = deep.substr(1, 80);
  EXPECT_THAT(wrong({{"run-dir", {"/" + less}}}), IsEmpty());
  EXPECT_EQ(wrong({{"run-dir", {"/" + less}}, {"tenant", {"long-name"}}}).size(), 1u);
}

}  // namespace
}  // namespace cascade::config
