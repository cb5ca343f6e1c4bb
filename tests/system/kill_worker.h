// A client that makes random requests and knows what it was promised.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "clients/cpp/client.h"
#include "tests/system/kill_ledger.h"

namespace cascade::testing {

// The disk and the processors may be busy with other work. If a client gave up while the daemon
// still works, the client would have to expect its changes at any later time.
inline const client::ClientOptions kPatientClient = {.timeout_ms = 60'000,
                                                     .heartbeat_timeout_ms = 60'000};

struct KillCounts {
  int64_t acknowledged = 0;  // operations
  int64_t refused = 0;
  int64_t open = 0;  // operations whose answer did not come
  int64_t generations = 0;
  int64_t tokens_loaded = 0;
  int64_t tokens_compared = 0;
  std::map<std::string, int64_t> refusals;  // by code and field
};

// Used by one thread at a time.
class KillWorker {
 public:
  KillWorker(int number, uint64_t seed) : number_(number), random_(seed) {}

  // Works until the daemon has ended or `stop` is set. faults() says what is wrong.
  void work(const std::string& endpoint, const std::atomic<bool>& stop);
  // Repeats one greedy or seeded generation that was answered before; `reference` is a daemon that
  // was never killed. False if the daemon has ended.
  bool replay(client::Client& daemon, client::Client& reference);

  Ledger& ledger() { return ledger_; }
  const std::string& gone() const { return gone_; }  // why replay() returned false
  const KillCounts& counts() const { return counts_; }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  // A generation, and the same request without ids.
  struct Recorded {
    wire::GenerateRequest request;
    wire::GenerateRequest plain;
    std::vector<int32_t> token_ids;
    std::vector<float> logprobs;
    bool checked = false;  // against the reference
  };
  struct Conversation {
    wire::ChunkRef system;
    std::vector<std::string> output_ids;
    bool thinking = false;
  };

  bool step(client::Client& client);
  bool put(client::Client& client);
  bool update(client::Client& client);
  bool remove(client::Client& client);
  bool look(client::Client& client);
  bool converse(client::Client& client);
  bool complete(client::Client& client);
  bool generate(client::Client& client, wire::GenerateRequest request, Conversation* conversation);
  bool generated(client::Client& client, wire::GenerateRequest&& request,
                 const client::Generation& generation, Conversation* conversation);
  Status show_texts(client::Client& client, const wire::GenerateRequest& request,
                    std::vector<Chunk>& seen);
  Conversation& conversation();
  wire::GenerateRequest plain_of(const wire::GenerateRequest& request) const;
  void record(const wire::GenerateRequest& request, const client::Generation& generation);
  void check_same(const char* what, const Recorded& recorded, const client::Generation& again);
  void set_output(wire::GenerateRequest& request);

  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  std::string words(uint64_t least, uint64_t most);
  std::string system_text();
  wire::ChunkUpdate settings();
  const Chunk* any(const std::function<bool(const Chunk&)>& fits);
  bool all_there(const wire::GenerateRequest& request) const;

  // Handles an answer. False if none came because the daemon has ended.
  bool settle(const Result<Chunk>& answer);
  bool end(const Error& error);
  void fault(const std::string& what);

  const int number_;
  Random random_;
  Ledger ledger_;
  std::deque<Recorded> recorded_;
  std::vector<Conversation> conversations_;
  KillCounts counts_;
  std::vector<std::string> faults_;
  std::string gone_;
};

}  // namespace cascade::testing
