// The command line: what is accepted, and that every refusal says which option is wrong.
#include "daemon/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace cascade {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  ParsedOptions parsed;
  std::string out;
  std::string err;
};

Outcome parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cascaded");
  Outcome outcome;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  outcome.parsed = parse_options(static_cast<int>(arguments.size()), arguments.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

// The options that `arguments` give besides --model.
DaemonOptions accepted(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m"});
  const Outcome outcome = parse(arguments);
  EXPECT_FALSE(outcome.parsed.exit_code.has_value()) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  return outcome.parsed.options;
}

TEST(ParseBytes, takes_plain_numbers_and_binary_units) {
  EXPECT_EQ(*parse_bytes("--kv-memory", "1"), 1);
  EXPECT_EQ(*parse_bytes("--kv-memory", "1024"), 1024);
  EXPECT_EQ(*parse_bytes("--kv-memory", "3K"), 3 * 1024);
  EXPECT_EQ(*parse_bytes("--kv-memory", "512M"), int64_t{512} << 20);
  EXPECT_EQ(*parse_bytes("--kv-memory", "4G"), int64_t{4} << 30);
  EXPECT_EQ(*parse_bytes("--kv-memory", "9223372036854775807"), INT64_MAX);
  EXPECT_EQ(*parse_bytes("--kv-memory", "8589934591G"), INT64_MAX - (int64_t{1} << 30) + 1);
}

TEST(ParseBytes, refuses_what_is_not_a_size) {
  for (const char* text : {"",
                           "G",
                           "0",
                           "0G",
                           "-1",
                           "-1G",
                           "+1",
                           " 1",
                           "1 ",
                           "1 G",
                           "1g",
                           "1k",
                           "1T",
                           "1GB",
                           "1GiB",
                           "1.5G",
                           "0x10",
                           "1e9",
                           "9223372036854775808",
                           "8589934592G",
                           "99999999999999999999",
                           "1KK"}) {
    const auto bytes = parse_bytes("--kv-memory", text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(bytes.error().message, HasSubstr(text));
  }
}

TEST(Options, say_what_the_cache_keeps) {
  const DaemonOptions defaults = accepted({});
  EXPECT_EQ(defaults.eviction, EvictionPolicy::kHybrid);
  EXPECT_EQ(defaults.max_pinned, 0.5);
  EXPECT_EQ(defaults.chunk_memory_ratio, 0.9);
  const DaemonOptions given =
      accepted({"--eviction", "lru", "--max-pinned", "0.25", "--chunk-memory-ratio", "1"});
  EXPECT_EQ(given.eviction, EvictionPolicy::kLru);
  EXPECT_EQ(given.max_pinned, 0.25);
  EXPECT_EQ(given.chunk_memory_ratio, 1);
  using Arguments = std::vector<const char*>;
  for (const Arguments& wrong :
       {Arguments{"--eviction", "fifo"}, Arguments{"--max-pinned", "1.1"},
        Arguments{"--max-pinned", "nan"}, Arguments{"--chunk-memory-ratio", "-0.1"}}) {
    const Outcome outcome = parse({"--model", "m", wrong[0], wrong[1]});
    EXPECT_EQ(outcome.parsed.exit_code, kExitUsage) << wrong[0] << ' ' << wrong[1];
    EXPECT_THAT(outcome.err, HasSubstr(wrong[0]));
  }
}

TEST(Options, have_defaults_that_the_daemon_can_use) {
  const DaemonOptions options = accepted({});
  EXPECT_EQ(options.model_dir, "m");
  EXPECT_EQ(options.weight_type, WeightType::kBf16);
  EXPECT_EQ(options.kv_type, KvType::kInt8);
  EXPECT_TRUE(kernels_for(options.isa).ok());
  EXPECT_GE(options.threads, 1);
  EXPECT_LE(options.threads, 256);
  EXPECT_GE(options.kv_bytes_max, int64_t{64} << 20);
  EXPECT_EQ(options.endpoint, "ipc://" + options.run_dir + "/cascaded.sock");
  EXPECT_EQ(options.log_level, "info");
}

TEST(Options, take_every_option) {
  const DaemonOptions options =
      accepted({"--run-dir",     "/r",     "--weights",      "f32", "--kv",         "f32",
                "--isa",         "scalar", "--threads",      "3",   "--kv-memory",  "128M",
                "--max-waiting", "1",      "--max-running",  "256", "--max-tokens", "16777216",
                "--log-level",   "debug",  "--stop-timeout", "3"});
  EXPECT_EQ(options.run_dir, "/r");
  EXPECT_EQ(options.endpoint, "ipc:///r/cascaded.sock");
  EXPECT_EQ(options.weight_type, WeightType::kF32);
  EXPECT_EQ(options.kv_type, KvType::kF32);
  EXPECT_EQ(options.isa, Isa::kScalar);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.stop_timeout_s, 3);
  EXPECT_EQ(options.kv_bytes_max, int64_t{128} << 20);
  EXPECT_EQ(options.requests_waiting_max, 1);
  EXPECT_EQ(options.requests_running_max, 256);
  EXPECT_EQ(options.max_tokens_default, 1 << 24);
  EXPECT_EQ(options.log_level, "debug");
}

TEST(Options, take_an_endpoint_of_its_own) {
  const DaemonOptions options = accepted({"--run-dir", "/r", "--endpoint", "ipc:///s/x.sock"});
  EXPECT_EQ(options.endpoint, "ipc:///s/x.sock");
  EXPECT_EQ(options.run_dir, "/r");
}

TEST(Options, put_the_socket_into_the_users_runtime_folder) {
  const char* before = std::getenv("XDG_RUNTIME_DIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const std::string expected = ::geteuid() == 0 ? "/run/cascaded" : "/run/user/7/cascaded";
  EXPECT_EQ(accepted({}).run_dir, expected);
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(accepted({}).run_dir, "/run/cascaded");
  if (before != nullptr) ::setenv("XDG_RUNTIME_DIR", saved.c_str(), 1);
}

// Sets a variable of the environment, or takes it away, for one test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  void set(const char* value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Options, keep_state_where_the_system_or_the_user_has_it) {
  Environment systemd("STATE_DIRECTORY", "/var/lib/cascade:/var/lib/more");
  Environment xdg("XDG_STATE_HOME", "/x");
  Environment home("HOME", "/home/u");
  EXPECT_EQ(accepted({}).state_dir, "/var/lib/cascade");
  EXPECT_EQ(accepted({"--state-dir", "/s"}).state_dir, "/s");
  EXPECT_EQ(accepted({"--state-dir", ""}).state_dir, "") << "nothing is kept";
  systemd.set(nullptr);
  EXPECT_EQ(accepted({}).state_dir, "/x/cascade");
  for (const char* ignored : {"", "relative"}) {
    xdg.set(ignored);
    EXPECT_EQ(accepted({}).state_dir, "/home/u/.local/state/cascade");
  }
  home.set(nullptr);
  EXPECT_EQ(accepted({}).state_dir, "");
}

TEST(Options, refuse_wrong_values_by_name) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> wrong = {
      {"--weights", {"", "int16", "F32", "bf16 "}},
      {"--kv", {"", "fp4", "BF16"}},
      {"--isa", {"", "sse", "AVX2", "neon"}},
      {"--threads", {"", "0", "-1", "257", "many", "1.5", "99999999999999999999"}},
      {"--model", {""}},
      {"--run-dir", {"", "relative"}},
      {"--endpoint", {"", "foo", "tcp://127.0.0.1:5555", "ipc://relative"}},
      {"--kv-memory", {"", "0", "-4G", "4GB", "lots", "8589934592G", "18446744073709551616"}},
      {"--max-waiting", {"", "0", "-1", "100001", "x"}},
      {"--max-running", {"", "0", "257", "x"}},
      {"--stop-timeout", {"", "0", "-1", "3601", "x"}},
      {"--max-tokens", {"", "0", "-1", "16777217", "x"}},
      {"--log-level", {"", "trace", "INFO", "off"}},
  };
  for (const auto& [option, values] : wrong) {
    const bool is_model = std::string_view(option) == "--model";
    for (const char* value : values) {
      std::vector<const char*> arguments = {option, value};
      if (!is_model) arguments.insert(arguments.end(), {"--model", "m"});
      const Outcome outcome = parse(arguments);
      ASSERT_TRUE(outcome.parsed.exit_code.has_value()) << option << " \"" << value << '"';
      EXPECT_EQ(*outcome.parsed.exit_code, 2) << option << " \"" << value << '"';
      EXPECT_THAT(outcome.err, HasSubstr(option)) << '"' << value << '"';
      EXPECT_EQ(outcome.out, "");
    }
  }
}

TEST(Options, tell_units_and_range_of_a_size) {
  const std::string err = parse({"--model", "m", "--kv-memory", "4GB"}).err;
  for (const char* part : {"--kv-memory", "bytes", "from 1 to", "K, M or G", "\"4GB\""}) {
    EXPECT_THAT(err, HasSubstr(part));
  }
}

TEST(Options, tell_the_exit_codes_in_the_help) {
  EXPECT_THAT(parse({"--help"}).out, HasSubstr("Exit codes: 0 "));
}

TEST(Options, refuse_options_without_a_value) {
  for (const char* option : {"--run-dir", "--state-dir", "--endpoint", "--weights", "--kv", "--isa",
                             "--threads", "--kv-memory", "--max-waiting", "--max-running",
                             "--max-tokens", "--stop-timeout", "--log-level", "--model"}) {
    const Outcome outcome = parse({"--model", "m", option});
    EXPECT_EQ(outcome.parsed.exit_code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr(option));
  }
}

TEST(Options, refuse_unknown_and_doubled_ones_and_words) {
  const Outcome unknown = parse({"--model", "m", "--modle", "n"});
  EXPECT_EQ(unknown.parsed.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--modle"));
  const Outcome word = parse({"--model", "m", "serve"});
  EXPECT_EQ(word.parsed.exit_code, 2);
  EXPECT_THAT(word.err, HasSubstr("serve"));
  const Outcome doubled = parse({"--model", "m", "--threads", "1", "--threads", "2"});
  EXPECT_EQ(doubled.parsed.exit_code, 2);
  EXPECT_THAT(doubled.err, HasSubstr("--threads"));
}

TEST(Options, serve_http_where_they_are_told_and_nowhere_else) {
  EXPECT_EQ(accepted({}).http_address, "");
  EXPECT_EQ(accepted({"--http", "8178"}).http_address, "127.0.0.1:8178");
  for (const char* address : {"127.0.0.1:0", "[::1]:80", "localhost:80", "unix:/tmp/x"}) {
    EXPECT_EQ(accepted({"--http", address}).http_address, address);
  }
  const auto with_keys = accepted({"--http", "0.0.0.0:80", "--http-keys", "keys", "--http-host",
                                   "a.lan", "--http-host", "b.lan"});
  EXPECT_EQ(with_keys.http_keys_file, "keys");
  EXPECT_EQ(with_keys.http_hosts, (std::vector<std::string>{"a.lan", "b.lan"}));
}

TEST(Options, refuse_http_beyond_this_machine_without_keys) {
  for (const char* address : {"0.0.0.0:80", "[::]:80", "10.0.0.1:80"}) {
    const Outcome outcome = parse({"--model", "m", "--http", address});
    EXPECT_EQ(outcome.parsed.exit_code, 2) << address;
    EXPECT_THAT(outcome.err, HasSubstr("--http-keys")) << address;
  }
  for (const char* address : {"", "x", "host.lan:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                              "127.0.0.1:65536", "65536"}) {
    const Outcome outcome = parse({"--model", "m", "--http", address, "--http-host", "a"});
    EXPECT_EQ(outcome.parsed.exit_code, 2) << address;
    EXPECT_THAT(outcome.err, HasSubstr("--http")) << address;
  }
  EXPECT_EQ(parse({"--model", "m", "--http-keys", "keys"}).parsed.exit_code, 2);
}

TEST(Options, need_a_model) {
  const Outcome outcome = parse({});
  EXPECT_EQ(outcome.parsed.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--model"));
}

TEST(Options, answer_help_and_version_on_stdout) {
  const Outcome help = parse({"--help"});
  EXPECT_EQ(help.parsed.exit_code, 0);
  for (const char* option :
       {"--model", "--run-dir", "--state-dir", "--endpoint", "--weights", "--kv", "--isa",
        "--threads", "--kv-memory", "--max-waiting", "--max-running", "--max-tokens",
        "--stop-timeout", "--log-level", "--version"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  EXPECT_EQ(help.err, "");
  const Outcome version = parse({"--version"});
  EXPECT_EQ(version.parsed.exit_code, 0);
  EXPECT_EQ(version.out, "cascaded " CASCADE_VERSION "\n");
}

TEST(Options, answer_help_whatever_else_is_missing_or_wrong) {
  EXPECT_EQ(parse({"--help", "--threads", "3"}).parsed.exit_code, 0);
  EXPECT_EQ(parse({"--threads", "3", "--version"}).parsed.exit_code, 0);
}

}  // namespace
}  // namespace cascade
