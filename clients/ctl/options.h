// The command line of cascadectl.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "clients/ctl/bench_command.h"
#include "clients/ctl/completion.h"
#include "clients/ctl/config_commands.h"
#include "clients/ctl/key_commands.h"
#include "clients/ctl/retain.h"
#include "wire/messages.h"

namespace cascade::ctl {

// One of --context TEXT, --context-file FILE, --chunk ID, in the order of the command line.
struct ContextArgument {
  enum class Kind { kText, kFile, kChunk } kind = Kind::kText;
  std::string value;
};

struct GenerateOptions {
  std::optional<std::string> query;  // the argument or --query; absent: stdin, or a QUERY --chunk
  std::string system;
  std::vector<ContextArgument> contexts;
  std::optional<std::string> batch;  // a file of prompts, "-" is stdin; instead of a query
  std::string stdin_option;          // which option's file is stdin ("-"); empty if none is
  bool raw = false;
  bool stream = false;
  wire::GenerateRequest params;  // without a prompt
};

struct ChatOptions {
  std::string system;
  Retain retain = Retain::kAlways;
  wire::GenerateRequest params;
};

struct ChunkListOptions {
  std::optional<ChunkType> type;
  size_t limit = 1000;
};

struct ChunkSearchOptions {
  std::string query;
  int32_t limit = 20;
};

struct ChunkPutOptions {
  std::optional<std::string> text;  // absent: a file, token ids or stdin
  std::string file;
  wire::ChunkPut put;  // without a text
};

// The options of the session commands.
struct SessionOptions {
  std::string name;  // of `show` and `delete`
  int32_t limit = 1000;
  bool outputs = false;
};

// The options of `chunk delete`.
struct ChunkDeleteOptions {
  std::string name;  // the name whose holder is given up; empty: see wire::ChunkDelete
  bool all = false;
};

// The options of `model load` and `model unload`.
struct ModelOptions {
  std::string name;
  bool estimate = false;
};

// The options of `completion`.
struct CompletionOptions {
  std::string shell;
  std::string program = "cascadectl";
  std::vector<CommandWords> words;  // cascadectl's words, from its options
};

// The options of `fsck` and `backup`.
struct UpkeepOptions {
  std::optional<std::string> state_dir;  // absent: the daemon's default
  bool repair = false;
  bool rebuild = false;
  std::string directory;  // the backup's directory
};

// The options of `events` and `top`.
struct WatchOptions {
  std::vector<std::string> kinds;  // of events; empty: all
  std::optional<int64_t> since;    // an event's number
  int64_t interval_ms = 1000;      // of top
  int64_t count = 0;               // of events or pages; 0: no end
};

struct Options {
  enum class Command {
    kStatus,
    kGenerate,
    kChat,
    kChunkList,
    kChunkSearch,
    kChunkShow,
    kChunkDelete,
    kChunkPut,
    kChunkUpdate,
    kChunkStats,
    kSessionList,
    kSessionShow,
    kSessionDelete,
    kPolicyList,
    kPolicySet,
    kModelList,
    kModelLoad,
    kModelUnload,
    kFsck,
    kBackup,
    kKeyNew,
    kKeyAllow,
    kKeyRevoke,
    kEvents,
    kTop,
    kBench,
    kDoctor,
    kConfigCheck,
    kConfigShow,
    kConfigManual,
    kCompletion,
  };
  Command command = Command::kStatus;
  std::string endpoint;         // never empty
  bool endpoint_given = false;  // by an option or the environment
  bool json = false;
  std::string model;  // the model that is asked; empty: the daemon's default model
  GenerateOptions generate;
  ChatOptions chat;
  ChunkListOptions list;
  ChunkSearchOptions search;
  std::vector<std::string> ids;  // of the chunk commands except list, search, put and stats
  ChunkPutOptions put;
  ChunkDeleteOptions remove;
  wire::ChunkUpdate update;  // without an id; applied to each of `ids`
  SessionOptions session;
  wire::PolicySet policy;
  ModelOptions model_command;
  UpkeepOptions upkeep;
  KeyOptions key;
  WatchOptions watch;
  BenchOptions bench;
  ConfigOptions config;
  CompletionOptions completion;
};

// Finds mistakes that do not depend on the daemon: parameters of a generation that are out of
// range. Errors: kInvalidArgument, as wire::check_request.
Status check_options(const Options& options);

// Returns the options, or the exit code if help was asked for or the command line is wrong. In that
// case everything has been said already: with --json, mistakes were written to `out`.
std::variant<Options, int> parse_options(int argc, const char* const* argv, std::ostream& out);

}  // namespace cascade::ctl
