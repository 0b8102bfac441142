#include "tests/sim/team_files.hpp"

#include "tests/sim/arrays_files.hpp"
#include "tests/sim/jsonl_files.hpp"
#include "tests/sim/machine.hpp"
#include "tests/sim/maildir_files.hpp"

namespace inbox_poller::sim {

const char* name_of(System system) {
  switch (system) {
    case System::jsonl: return "jsonl";
    case System::maildir: return "maildir";
    case System::arrays: break;
  }
  return "arrays";
}

std::vector<std::string> TeamFiles::boxes() const {
  std::vector<std::string> all{lead()};
  all.insert(all.end(), machine_.workers().begin(), machine_.workers().end());
  return all;
}

void TeamFiles::lose_power() { machine_.disk().lose_power(machine_.dice()); }

std::unique_ptr<TeamFiles> make_team_files(System system, Machine& machine, const std::string& root) {
  switch (system) {
    case System::jsonl: return std::make_unique<JsonlFiles>(machine, root + "/.team");
    case System::maildir: return std::make_unique<MaildirFiles>(machine, root + "/shared");
    case System::arrays: break;
  }
  return std::make_unique<ArraysFiles>(machine, root + "/t");
}

}  // namespace inbox_poller::sim
