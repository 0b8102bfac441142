// The program's entry. It passes the process's arguments and descriptors to the library.
#include <fcntl.h>
#include <unistd.h>

#include "poller/cli/command_line.hpp"

int main(int argc, char** argv) {
  using namespace inbox_poller::poller;
  // If a standard descriptor were closed, the next open file would get its number. The placeholder is opened in the
  // wrong direction, so that reads and writes still fail.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  cli::Console console(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
  return cli::run_command_line(std::vector<std::string>(argv + (argc > 0), argv + argc), console, run_daemon);
}
