// Asks the daemon one question.
#include <iostream>

#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"

int main() {
  auto client = cascade::client::Client::connect(cascade::client::default_endpoint());
  if (!client.ok()) {
    std::cerr << client.error().to_string() << std::endl;
    return 1;
  }
  const auto status = client->status();
  if (!status.ok()) return 1;
  std::cout << status->model << std::endl;
}
