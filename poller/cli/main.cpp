// The program: the library does the work, this gives it the process's arguments and descriptors.
#include <fcntl.h>
#include <unistd.h>

#include "poller/cli/command_line.hpp"

int main(int argc, char** argv) {
  using namespace inbox_poller::poller;
  // Started with a standard descriptor closed, the next file or socket would become it. Opened the wrong way round, it
  // refuses what is done with it as before.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  cli::Console console(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
  return cli::run_command_line(std::vector<std::string>(argv + (argc > 0), argv + argc), console, run_daemon);
}
