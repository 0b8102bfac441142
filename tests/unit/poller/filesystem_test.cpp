// The port to files on a real file system: what is opened, what is refused, and what the messages say.
#include "poller/filesystem.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::filesystem_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace fs = std::filesystem;

namespace {

struct Setting {
  ScratchDir scratch;
  PosixFileSystem files;
  Directory folder = *files.open_dir(absolute, scratch.path().string());
};

}  // namespace

TEST_CASE("a file is created with exactly the mode that was asked for, once, and reads back") {
  Setting at;
  const mode_t old = ::umask(077);
  const Result<File> created = at.files.create_exclusive(at.folder, "a", 0664);
  ::umask(old);
  REQUIRE(created.ok());
  CHECK(at.files.stat_at(at.folder, "a")->mode == 0664);
  REQUIRE(at.files.write_at(*created, "hello", 0).ok());
  REQUIRE(at.files.write_at(*created, "J", 0).ok());
  CHECK(at.files.sync(*created).ok());
  CHECK(at.files.sync_dir(at.folder).ok());
  const Result<File> opened = at.files.open_read(at.folder, "a");
  REQUIRE(opened.ok());
  CHECK(*read_all(at.files, *opened) == "Jello");
  const Result<File> again = at.files.create_exclusive(at.folder, "a", 0600);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == "io.EEXIST");
}

TEST_CASE("a read asks for more than there is and gets what there is") {
  Setting at;
  spill(at.scratch.path("a"), "abc");
  const Result<File> file = at.files.open_read(at.folder, "a");
  char buffer[8] = {};
  CHECK(*at.files.read_at(*file, buffer, sizeof buffer, 1) == 2);
  CHECK(std::string(buffer) == "bc");
}

TEST_CASE("only regular files are opened, and a FIFO without a peer does not block") {
  Setting at;
  spill(at.scratch.path("file"), "x");
  fs::create_directory(at.scratch.path("folder"));
  fs::create_symlink("file", at.scratch.path("link"));
  REQUIRE(::mkfifo(at.scratch.path("fifo").c_str(), 0600) == 0);
  for (const char* name : {"folder", "link", "fifo"}) {
    CAPTURE(std::string(name));
    const Result<File> read = at.files.open_read(at.folder, name);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == code::not_regular);
    CHECK_THAT(read.error().message, Contains(at.scratch.path(name).string()));
    CHECK_FALSE(at.files.open_update(at.folder, name).ok());
    CHECK_FALSE(at.files.open_append(at.folder, name).ok());
  }
}

TEST_CASE("a stat is about the name itself") {
  Setting at;
  fs::create_symlink("nowhere", at.scratch.path("link"));
  CHECK(at.files.stat_at(at.folder, "link")->kind == FileKind::symlink);
  CHECK(at.files.stat_at(absolute, at.scratch.path().string())->kind == FileKind::directory);
}

TEST_CASE("what is appended goes to the end, whoever wrote in between - the file is private") {
  Setting at;
  const Result<File> log = at.files.open_append(at.folder, "log");
  REQUIRE(log.ok());
  REQUIRE(at.files.append(*log, "one\n").ok());
  spill(at.scratch.path("log"), "other\n");
  REQUIRE(at.files.append(*log, "two\n").ok());
  CHECK(slurp(at.scratch.path("log")) == "other\ntwo\n");
  CHECK((at.files.stat_at(at.folder, "log")->mode & 077U) == 0);
}

TEST_CASE("a write that fits only in part is a fault that names the file") {
  Setting at;
  const Result<File> file = at.files.create_exclusive(at.folder, "big", 0600);
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status written = at.files.write_at(*file, std::string(1000, 'x'), 0);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(written.ok());
  CHECK(written.error().code == "io.EFBIG");
  CHECK_THAT(written.error().message, Contains(at.scratch.path("big").string()));
  CHECK(at.files.stat(*file)->size == 100);
}

TEST_CASE("faults have the errno's name as their code, also for one we have no name for") {
  CHECK(io_error(ENOSPC, "writing", "/x").code == "io.ENOSPC");
  CHECK(io_error(ENOSPC, "writing", "/x").message == "writing /x: No space left on device");
  CHECK(io_error(4095, "writing", "/x").code == "io.errno_4095");
  CHECK(is_errno(io_error(ENOENT, "", ""), ENOENT));
  CHECK_FALSE(is_errno(io_error(ENOENT, "", ""), EACCES));
}

TEST_CASE("a folder is listed completely, twice the same") {
  Setting at;
  for (int i = 0; i < 300; ++i) spill(at.scratch.path(std::to_string(i)), "");
  CHECK(at.files.list(at.folder)->size() == 300);
  CHECK(at.files.list(at.folder)->size() == 300);
}

TEST_CASE("a durable file that cannot be finished is not left half done") {
  Setting at;
  FaultyFileSystem faulty(at.files);
  for (const Call call : {Call::create_exclusive, Call::write_at, Call::sync}) {
    faulty.set({call, 1, ENOSPC, false});
    const Status status = create_durable(faulty, at.folder, "copy", "bytes", 0600);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == "io.ENOSPC");
    CHECK_FALSE(fs::exists(at.scratch.path("copy")));
  }
  faulty.heal();
  CHECK(create_durable(faulty, at.folder, "copy", "bytes", 0600).ok());
  CHECK(slurp(at.scratch.path("copy")) == "bytes");
}

TEST_CASE("a private folder is made with its parents, and accepted when it is there") {
  Setting at;
  const fs::path path = at.scratch.path("state/inbox-poller");
  REQUIRE(ensure_private_dir(at.files, path.string()).ok());
  CHECK(at.files.stat_at(absolute, path.string())->mode == 0700);
  CHECK(at.files.stat_at(absolute, path.parent_path().string())->mode == 0700);
  CHECK(ensure_private_dir(at.files, path.string() + "/").ok());
}

TEST_CASE("a private folder is on the disk with its parents, so a power failure leaves what is in it") {
  Setting at;
  FaultyFileSystem files(at.files);
  std::vector<std::string> synced;
  files.before(Call::sync_dir, [&](const std::string& name) { synced.push_back(name); });
  const auto state = at.scratch.path("state");
  REQUIRE(ensure_private_dir(files, (state / "inbox-poller").string()).ok());
  CHECK(synced == std::vector<std::string>{at.scratch.path().string(), state.string()});
}

TEST_CASE("a private folder that others may write to is refused with the command that puts it right") {
  Setting at;
  const fs::path path = at.scratch.path("it's open");
  fs::create_directory(path);
  for (const mode_t mode : {mode_t{0770}, mode_t{0702}, mode_t{0777}}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const Result<Directory> refused = ensure_private_dir(at.files, path.string());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == code::untrusted);
    CHECK_THAT(refused.error().message, Contains("chmod go-w '" + at.scratch.path("it").string() + "'\\''s open'"));
  }
}

TEST_CASE("what belongs to another user is refused with the command that puts it right - root's is not") {
  FileStat stat;
  stat.mode = 0755;
  stat.uid = static_cast<unsigned>(::geteuid()) + 1;
  const Status refused = require_trusted(stat, "/teams/a");
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Contains("chown " + std::to_string(::geteuid()) + " /teams/a"));
  stat.uid = 0;
  CHECK(require_trusted(stat, "/teams/a").ok());
}

TEST_CASE("a private folder below one that others may write to is refused, below a sticky one it is not") {
  Setting at;
  fs::create_directories(at.scratch.path("shared/state"));
  fs::permissions(at.scratch.path("shared/state"), fs::perms::owner_all);
  REQUIRE(::chmod(at.scratch.path("shared").c_str(), 0777) == 0);
  const Result<Directory> refused = ensure_private_dir(at.files, at.scratch.path("shared/state").string());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == code::untrusted);
  CHECK_THAT(refused.error().message, Contains("chmod go-w " + at.scratch.path("shared").string()));
  REQUIRE(::chmod(at.scratch.path("shared").c_str(), 01777) == 0);
  CHECK(ensure_private_dir(at.files, at.scratch.path("shared/state").string()).ok());
}

TEST_CASE("of a team's folder neither the last part nor the one before it may be a link") {
  Setting at;
  fs::create_directories(at.scratch.path("teams/demo"));
  fs::create_directory_symlink("teams", at.scratch.path("link"));
  fs::create_directory_symlink("demo", at.scratch.path("teams/alias"));
  CHECK(open_dir_below(at.files, at.scratch.path("teams/demo").string()).ok());
  for (const char* name : {"link/demo", "teams/alias", "link/alias"}) {
    const Result<Directory> refused = open_dir_below(at.files, at.scratch.path(name).string());
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == code::untrusted);
  }
  CHECK(is_errno(open_dir_below(at.files, at.scratch.path("nowhere/demo").string()).error(), ENOENT));
}

TEST_CASE("a link, a file or a place that cannot be made is no private folder") {
  Setting at;
  fs::create_directory(at.scratch.path("real"));
  fs::create_directory_symlink("real", at.scratch.path("link"));
  spill(at.scratch.path("file"), "");
  for (const char* name : {"link", "link/", "file"}) {
    CAPTURE(std::string(name));
    const Result<Directory> refused = ensure_private_dir(at.files, at.scratch.path().string() + "/" + name);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == code::untrusted);
  }
  CHECK_FALSE(ensure_private_dir(at.files, at.scratch.path("file/below").string()).ok());
  CHECK_FALSE(ensure_private_dir(at.files, "").ok());
}

}  // namespace inbox_poller::filesystem_test
