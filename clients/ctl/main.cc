// cascadectl: the admin command line and chat of the Cascade daemon.
#include <cstdio>
#include <iostream>

#include "clients/ctl/run.h"

int main(int argc, char** argv) {
  const int exit_code = cascade::ctl::run(argc, argv);
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0) return exit_code;
  std::fputs("error: io: standard output: could not be written\n", stderr);
  return exit_code == 0 ? 1 : exit_code;
}
