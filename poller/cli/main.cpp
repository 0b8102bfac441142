// The program: the library does the work, this gives it the process's arguments and descriptors.
#include <unistd.h>

#include "poller/cli/command.hpp"

int main(int argc, char** argv) {
  using namespace inbox_poller::poller;
  cli::Console console(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
  return cli::run_command_line(std::vector<std::string>(argv + (argc > 0), argv + argc), console, run_daemon);
}
