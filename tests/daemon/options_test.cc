// The daemon's options: which values are accepted, which layer takes precedence, and that every
// refusal says what is wrong.
#include "daemon/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/memory_limit.h"
#include "tests/temporary_folder.h"

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

// The options that result from `arguments` and --model.
DaemonOptions accepted(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m"});
  const Outcome outcome = parse(arguments);
  EXPECT_FALSE(outcome.parsed.exit_code.has_value()) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  return outcome.parsed.options;
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
  EXPECT_EQ(options.weight_type, std::nullopt) << "as the model's files have them";
  EXPECT_EQ(options.kv_type, KvType::kInt8);
  EXPECT_TRUE(kernels_for(options.isa).ok());
  EXPECT_GE(options.threads, 1);
  EXPECT_LE(options.threads, 256);
  EXPECT_GE(options.kv_bytes_max, int64_t{64} << 20);
  EXPECT_EQ(options.endpoint, "ipc://" + options.run_dir + "/cascaded.sock");
  EXPECT_EQ(options.log_level, "info");
}

TEST(Options, give_pages_half_of_the_memory_that_the_process_may_use) {
  EXPECT_EQ(accepted({}).kv_bytes_max, default_kv_bytes(memory_limit()));
  EXPECT_EQ(default_kv_bytes({int64_t{160} << 20, "memory.max"}), int64_t{80} << 20);
  for (const int64_t little : {int64_t{0}, int64_t{1}, int64_t{127} << 20}) {
    EXPECT_EQ(default_kv_bytes({little, "memory.max"}), int64_t{64} << 20);
  }
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

constexpr uid_t kOtherUser = 20'001;

// Sets or removes an environment variable for one test.
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

TEST(Options, put_the_socket_where_the_system_or_the_user_has_it) {
  Environment systemd("RUNTIME_DIRECTORY", "/run/other:/run/more");
  const testing::TemporaryFolder folder;
  Environment xdg("XDG_RUNTIME_DIR", folder.path().c_str());
  EXPECT_EQ(accepted({}).run_dir, "/run/other");
  systemd.set(nullptr);
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(accepted({}).run_dir, root ? "/run/cascaded" : folder.path() / "cascaded");
  if (!root) return;
  if (::seteuid(kOtherUser) != 0) GTEST_SKIP() << "there is no other user here";
  // The folder belongs to root.
  EXPECT_EQ(accepted({}).run_dir, "/tmp/cascaded-20001");
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), kOtherUser, static_cast<gid_t>(-1)), 0);
  ASSERT_EQ(::seteuid(kOtherUser), 0);
  EXPECT_EQ(accepted({}).run_dir, folder.path() / "cascaded");
  for (const char* none : {static_cast<const char*>(nullptr), "", "relative"}) {
    xdg.set(none);
    EXPECT_EQ(accepted({}).run_dir, "/tmp/cascaded-20001");
  }
  ASSERT_EQ(::seteuid(0), 0);
}

TEST(Options, keep_state_where_the_system_or_the_user_has_it) {
  Environment systemd("STATE_DIRECTORY", "/var/lib/cascade:/var/lib/more");
  Environment xdg("XDG_STATE_HOME", "/x");
  Environment home("HOME", "/home/u");
  EXPECT_EQ(accepted({}).state_dir, "/var/lib/cascade");
  EXPECT_EQ(accepted({"--state-dir", "/s"}).state_dir, "/s");
  EXPECT_EQ(accepted({"--state-dir", ""}).state_dir, "") << "the daemon keeps nothing on disk";
  systemd.set(nullptr);
  EXPECT_EQ(accepted({}).state_dir, "/x/cascade");
  for (const char* ignored : {"", "relative"}) {
    xdg.set(ignored);
    EXPECT_EQ(accepted({}).state_dir, "/home/u/.local/state/cascade");
  }
  home.set(nullptr);
  EXPECT_EQ(accepted({}).state_dir, "");
  if (::geteuid() != 0) return;
  if (::seteuid(kOtherUser) != 0) GTEST_SKIP() << "there is no other user here";
  for (const char* none : {"/nonexistent", "/", "/proc/self/status"}) {
    home.set(none);
    EXPECT_EQ(accepted({}).state_dir, "") << "a home that is not this user's: " << none;
  }
  ASSERT_EQ(::seteuid(0), 0);
}

TEST(Options, refuse_wrong_values_by_name) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> wrong = {
      {"--weights", {"", "int16", "F32", "bf16 "}},
      {"--kv", {"", "fp4", "BF16"}},
      {"--isa", {"", "sse", "AVX2", "sve"}},
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

TEST(Options, show_what_a_terminal_would_obey) {
  EXPECT_THAT(parse({"--model", "m", "--log-level", "\x1b[2J"}).err, HasSubstr("␛[2J"));
}

TEST(Options, refuse_the_instructions_of_another_processor) {
  const char* const other = best_isa() == Isa::kNeon ? "avx2" : "neon";
  const Outcome outcome = parse({"--model", "m", "--isa", other, "--check"});
  EXPECT_EQ(outcome.parsed.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr(std::string("--isa: this CPU lacks the instructions of ") + other));
}

TEST(Options, tell_units_and_range_of_a_size) {
  const std::string err = parse({"--model", "m", "--kv-memory", "4GB"}).err;
  for (const char* part : {"--kv-memory", "bytes", "from 1 to", "K, M or G", "\"4GB\""}) {
    EXPECT_THAT(err, HasSubstr(part));
  }
}

TEST(Options, refuse_more_memory_than_the_process_may_have) {
  for (const char* size : {"8000000000G", "4000000G"}) {
    const Outcome outcome = parse({"--model", "m", "--kv-memory", size, "--check"});
    EXPECT_EQ(outcome.parsed.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--kv-memory: must be at most "));
    EXPECT_THAT(outcome.err, HasSubstr(std::string("got \"") + size + '"'));
  }
  // The default is half of the limit.
  const std::string all = std::to_string(default_kv_bytes(memory_limit()) / 1024 * 2) + "K";
  EXPECT_EQ(accepted({"--kv-memory", all.c_str()}).kv_bytes_max,
            default_kv_bytes(memory_limit()) / 1024 * 2048);
}

TEST(Options, have_their_defaults_behind_the_help) {
  const std::string help = parse({"--help"}).out;
  EXPECT_THAT(help, HasSubstr("--model PATH "));
  EXPECT_THAT(help, HasSubstr("a GGUF file (default: none: it must be given)"));
  EXPECT_THAT(help, HasSubstr("--kv one of f32, bf16, fp16, fp8, int8\n"));
  EXPECT_THAT(help, HasSubstr("(default: int8)"));
  EXPECT_EQ(help.find("=none"), help.npos);
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
  EXPECT_THAT(unknown.err, HasSubstr("--modle is not an option; did you mean --model?"));
  for (const char* wrong : {"--max-token=4", "--max_tokens=4", "--max-tokns"}) {
    EXPECT_THAT(parse({"--model", "m", wrong, "4"}).err,
                HasSubstr(" is not an option; did you mean --max-tokens?"));
  }
  EXPECT_THAT(parse({"--model", "m", "--bogus"}).err, HasSubstr("--bogus is not an option\n"));
  const Outcome word = parse({"--model", "m", "serve"});
  EXPECT_EQ(word.parsed.exit_code, 2);
  EXPECT_THAT(word.err, HasSubstr("serve"));
  const Outcome doubled = parse({"--model", "m", "--threads", "1", "--threads", "2"});
  EXPECT_EQ(doubled.parsed.exit_code, 2);
  EXPECT_THAT(doubled.err, HasSubstr("--threads"));
}

TEST(Options, have_a_rope_scaling_for_each_model_that_is_named) {
  using Type = ContextExtension::Type;
  EXPECT_TRUE(accepted({}).rope_scalings.empty());
  const auto options = accepted(
      {"--models-dir", "d", "--rope-scaling", "yarn:4", "--rope-scaling", "b=linear:2:100"});
  EXPECT_EQ(options.rope_scalings, (std::map<std::string, ContextExtension>{
                                       {"", {Type::kYarn, 4, 0}}, {"b", {Type::kLinear, 2, 100}}}));
  const Outcome outcome = parse({"--model", "m", "--rope-scaling", "ntk:4"});
  EXPECT_EQ(outcome.parsed.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--rope-scaling: must be yarn:FACTOR or linear:FACTOR"));
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
  const auto shared = accepted({"--http", "8178", "--http-origin", "https://a.example",
                                "--http-origin", "http://localhost:3000", "--http-model-alias",
                                "gpt-4o=default", "--http-model-alias", "a/b:c=demo"});
  EXPECT_EQ(shared.http_origins,
            (std::vector<std::string>{"https://a.example", "http://localhost:3000"}));
  EXPECT_EQ(shared.http_model_aliases,
            (std::map<std::string, std::string>{{"gpt-4o", "default"}, {"a/b:c", "demo"}}));
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

// A configuration file that exists for one test.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : path(folder_.path() / "c.toml") {
    std::ofstream(path) << text;
  }

 private:
  testing::TemporaryFolder folder_;

 public:
  const std::string path;
};

TEST(Options, come_from_files_then_the_environment_then_the_command_line) {
  const ConfigFile file("model = \"of-file\"\nthreads = 1\nmax_running = 1\nmax_tokens = 1\n");
  Environment running("CASCADED_MAX_RUNNING", "2");
  Environment tokens("CASCADED_MAX_TOKENS", "2");
  const Outcome outcome = parse({"--max-tokens", "3", "--config", file.path.c_str()});
  ASSERT_FALSE(outcome.parsed.exit_code) << outcome.err;
  const DaemonOptions& options = outcome.parsed.options;
  EXPECT_EQ(options.model_dir, "of-file");
  EXPECT_EQ(options.threads, 1);
  EXPECT_EQ(options.requests_running_max, 2);
  EXPECT_EQ(options.max_tokens_default, 3);
  EXPECT_EQ(outcome.parsed.config_file, file.path);
}

TEST(Options, find_the_file_in_the_environment) {
  const ConfigFile file("model = \"of-file\"\n");
  Environment named("CASCADED_CONFIG", file.path.c_str());
  EXPECT_EQ(parse({}).parsed.options.model_dir, "of-file");
}

TEST(Options, name_all_mistakes_of_a_file_with_their_lines) {
  const ConfigFile file("threads = 0\nkv = \"x\"\nhttp = \"0.0.0.0:80\"\nmodel = \"m\"\n");
  const Outcome outcome = parse({"--config", file.path.c_str()});
  EXPECT_EQ(outcome.parsed.exit_code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr(file.path + ":1: threads"));
  EXPECT_THAT(outcome.err, HasSubstr(file.path + ":2: kv"));
  const ConfigFile open("model = \"m\"\nhttp = \"0.0.0.0:80\"\n");
  EXPECT_THAT(parse({"--config", open.path.c_str()}).err, HasSubstr(open.path + ":2: http"));
}

TEST(Options, are_checked_without_a_start) {
  const Outcome good = parse({"--model", "m", "--check"});
  EXPECT_EQ(good.parsed.exit_code, 0);
  EXPECT_THAT(good.err, HasSubstr("good"));
  EXPECT_EQ(parse({"--model", "m", "--check", "--tenant", "local"}).parsed.exit_code, kExitUsage);
}

// The table and the engine know the same words.
TEST(Options, take_every_word_of_the_table) {
  for (const config::Setting& setting : config::settings()) {
    if (setting.kind != config::Kind::kChoice) continue;
    std::istringstream words(std::string(setting.allowed));
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      const auto isa = isa_from_string(word);
      if (isa && !kernels_for(*isa).ok()) continue;  // for another processor
      accepted({flag_of(setting).c_str(), word.c_str()});
    }
  }
}

TEST(Options, have_the_defaults_that_the_table_tells) {
  const DaemonOptions defaults = accepted({});
  for (const config::Setting& setting : config::settings()) {
    if (setting.fallback.empty()) continue;
    const std::string flag = flag_of(setting), value(setting.fallback);
    const DaemonOptions given = accepted({flag.c_str(), value.c_str()});
    EXPECT_EQ(given.weight_type, defaults.weight_type);
    EXPECT_EQ(given.kv_type, defaults.kv_type);
    EXPECT_EQ(given.disk_bytes_max, defaults.disk_bytes_max);
    EXPECT_EQ(given.eviction, defaults.eviction);
    EXPECT_EQ(given.think_policy, defaults.think_policy);
    EXPECT_EQ(given.attention, defaults.attention);
    EXPECT_EQ(given.max_pinned, defaults.max_pinned);
    EXPECT_EQ(given.chunk_memory_ratio, defaults.chunk_memory_ratio);
    EXPECT_EQ(given.requests_waiting_max, defaults.requests_waiting_max);
    EXPECT_EQ(given.tokens_waiting_max, defaults.tokens_waiting_max);
    EXPECT_EQ(given.requests_running_max, defaults.requests_running_max);
    EXPECT_EQ(given.max_tokens_default, defaults.max_tokens_default);
    EXPECT_EQ(given.stop_timeout_s, defaults.stop_timeout_s);
    EXPECT_EQ(given.log_level, defaults.log_level);
  }
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
