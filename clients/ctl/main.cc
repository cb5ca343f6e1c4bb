// cascadectl: the admin command line and chat of the Cascade daemon.
#include "clients/ctl/run.h"

int main(int argc, char** argv) {
  return cascade::ctl::run(argc, argv);
}
