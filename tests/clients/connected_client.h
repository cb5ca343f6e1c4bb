// A client that is connected to the test's own daemon.
#pragma once

#include <utility>

#include "clients/cpp/client.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client::testing {

struct ConnectedClient {
  explicit ConnectedClient(FakeDaemon::Handler handler, ClientOptions options = {})
      : daemon(folder.endpoint(), std::move(handler)),
        client(Client::connect(folder.endpoint(), options)) {}
  TempFolder folder;
  FakeDaemon daemon;
  Result<Client> client;
};

}  // namespace cascade::client::testing
