// Checks everything that can be checked before a daemon starts.
#include "bench/serve/stage.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "bench/serve/http_client.h"
#include "bench/speed/bench_setup.h"
#include "bench/speed/machine.h"

namespace cascade::serve {
namespace {

Result<std::string> find_cascaded(const std::string& given) {
  std::string path = given;
  if (path.empty()) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return io_error("/proc/self/exe", error.value());
    path = (self.parent_path() / "cascaded").string();
  }
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || ::access(path.c_str(), X_OK) != 0) {
    return invalid_argument("--cascaded", path + " is not a program; give the daemon's path");
  }
  return path;
}

}  // namespace

Stage::Stage(const ServeOptions& options, ModelText text)
    : options_(options), text_(std::move(text)), texts_(text_.tokenizer, options.seed) {}

Result<std::unique_ptr<Stage>> Stage::prepare(const ServeOptions& options) {
  RETURN_IF_ERROR(speed::weight_type_of(options.weights, "--weights"));
  RETURN_IF_ERROR(speed::kv_type_of(options.kv, "--kv"));
  ASSIGN_OR_RETURN(const std::string cascaded, find_cascaded(options.cascaded));
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(options.model_dir));
  ASSIGN_OR_RETURN(ModelText text, load_model_text(options.model_dir));
  auto stage = std::unique_ptr<Stage>(new Stage(options, std::move(text)));
  stage->options_.cascaded = cascaded;
  stage->context_tokens_ = config.context_tokens_max;
  ASSIGN_OR_RETURN(stage->folder_, TemporaryFolder::create());
  return stage;
}

// Makes a state directory for one daemon. Its packed weights are shared by all daemons.
Status Stage::make_state_dir(const std::filesystem::path& folder) const {
  const std::filesystem::path state = folder / "state", weights = folder_->path() / "weights";
  std::error_code error;
  std::filesystem::create_directories(weights, error);
  if (!error) std::filesystem::create_directories(state, error);
  if (!error) {
    std::filesystem::permissions(state, std::filesystem::perms::owner_all, error);
    std::filesystem::permissions(weights, std::filesystem::perms::owner_all, error);
  }
  if (!error) std::filesystem::create_directory_symlink(weights, state / "weights", error);
  if (error) return io_error(state.string(), error.value());
  return {};
}

Result<std::unique_ptr<Service>> Stage::start_service(
    const std::vector<std::string>& further_arguments) {
  const auto folder = folder_->path() / std::to_string(++daemons_);
  RETURN_IF_ERROR(make_state_dir(folder));
  return start_in(folder, further_arguments);
}

Result<std::unique_ptr<Service>> Stage::start_service_with_http() {
  ASSIGN_OR_RETURN(const int port, free_port());
  ASSIGN_OR_RETURN(auto service, start_service({"--http", "127.0.0.1:" + std::to_string(port)}));
  service->http_port = port;
  return service;
}

Result<std::unique_ptr<Service>> Stage::start_again(const Service& ended) {
  return start_in(ended.folder, {});
}

Result<std::unique_ptr<Service>> Stage::start_in(
    const std::filesystem::path& folder, const std::vector<std::string>& further_arguments) {
  std::vector<std::string> arguments = {
      "--model",   options_.model_dir, "--state-dir", (folder / "state").string(),
      "--weights", options_.weights,   "--kv",        options_.kv};
  if (options_.threads > 0) {
    arguments.insert(arguments.end(), {"--threads", std::to_string(options_.threads)});
  }
  if (!options_.kv_memory.empty()) {
    arguments.insert(arguments.end(), {"--kv-memory", options_.kv_memory});
  }
  arguments.insert(arguments.end(), further_arguments.begin(), further_arguments.end());
  arguments.insert(arguments.end(), options_.daemon_args.begin(), options_.daemon_args.end());
  auto service = std::make_unique<Service>();
  service->folder = folder;
  ASSIGN_OR_RETURN(service->daemon,
                   DaemonProcess::start(options_.cascaded, std::move(arguments), folder));
  service->traffic = std::make_unique<Traffic>(*service->daemon);
  ASSIGN_OR_RETURN(service->control, service->traffic->connect(service->daemon->endpoint()));
  return service;
}

Status Stage::check_context(const char* option, int64_t tokens) const {
  if (tokens <= context_tokens_) return {};
  return invalid_argument(option, "asks for " + std::to_string(tokens) +
                                      " tokens in all; the model's context holds " +
                                      std::to_string(context_tokens_));
}

OrderedJson Stage::header(const std::string& command, const wire::StatusReply& status) const {
  OrderedJson header;
  header["command"] = command;
  header["cpu"] = speed::cpu_name();
  header["isa"] = status.isa;
  header["threads"] = status.threads;
  header["model"] = status.model;
  header["weights"] = status.weight_type;
  header["kv"] = status.kv_type;
  header["kv_bytes_per_token"] = status.kv_bytes_per_token;
  header["kv_mb_max"] = static_cast<double>(status.kv_bytes_max) / 1e6;
  header["seed"] = options_.seed;
  return header;
}

Status Stage::print(const speed::Report& report) const {
  return speed::print(report, {.isa = {}, .json = options_.json});
}

wire::GenerateRequest raw_request(std::string prompt, int64_t max_tokens) {
  wire::GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = static_cast<int32_t>(max_tokens);
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  request.stream = true;
  return request;
}

}  // namespace cascade::serve
