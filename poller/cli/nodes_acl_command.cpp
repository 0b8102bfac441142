// `nodes acl`: users of Redis and their passwords.
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <random>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/broker/access.hpp"
#include "poller/broker/redis_connection.hpp"
#include "poller/filesystem.hpp"
#include "schema/operations/printed.hpp"
#include "schema/sha256.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct AclOptions {
  std::vector<std::string> leaders, followers;
  std::string secrets;
};

/// Returns 256 bits of the system's randomness in hexadecimal.
std::string new_password() {
  std::random_device source;
  std::string text;
  for (int i = 0; i < 8; ++i) {
    std::array<char, 9> part;
    std::snprintf(part.data(), part.size(), "%08x", static_cast<unsigned>(source()));
    text += part.data();
  }
  return text;
}

std::string hash_of(std::string_view password) {
  std::string text;
  for (const std::uint8_t byte : schema::sha256(password)) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    text += digits.data();
  }
  return text;
}

/// Returns the password in this file, which is created with a new password if missing.
Result<std::string> kept_password(FileSystem& files, const Directory& folder, const std::string& name) {
  const std::string path = folder.path + '/' + name;
  const Status made = create_durable(files, folder, name, new_password() + "\n", 0600);
  if (!made.ok() && made.error().code != "io.EEXIST") return made.error();
  return read_secret(path);
}

ExitCode acl(Context& context, const AclOptions& options) {
  if (context.team.empty()) return context.fail(usage_error("which team? Name it with --team NAME"));
  PosixFileSystem files;
  const auto folder = ensure_private_dir(files, options.secrets);
  if (!folder) return context.fail(folder.error());
  std::vector<NodeAccess> nodes;
  for (const std::string& node : options.leaders) nodes.push_back({node, true, {}});
  for (const std::string& node : options.followers) nodes.push_back({node, false, {}});
  if (const auto fits = access_list(context.team, nodes, {}); !fits) return context.fail(fits.error());  // before any file
  for (NodeAccess& one : nodes) {
    const auto password = kept_password(files, *folder, user_of_node(one.node));
    if (!password) return context.fail(password.error());
    one.password_sha256 = hash_of(*password);
  }
  const auto admin = kept_password(files, *folder, "admin");
  if (!admin) return context.fail(admin.error());
  const auto text = access_list(context.team, nodes, hash_of(*admin));
  if (!text) return context.fail(text.error());
  if (context.json) return context.print_record(operations::NodesAcl{*text, folder->path});
  return context.print(*text);
}

// clang-format off
constexpr Argument nodes_acl_takes[] = {
    takes<&AclOptions::leaders>("--leader NODE", "A node that may lead; several when there are standbys").required(),
    takes<&AclOptions::followers>("--follower NODE", "A node that never leads"),
    takes<&AclOptions::secrets>("--secrets DIR", "The folder of the passwords; made when it is missing").required(),
};

constexpr Command nodes_acl_rows[] = {
    {.name = "nodes acl", .group = Group::look, .summary = "Print the users of the Redis between them, and make their passwords",
     .help = "Prints the users of a team's Redis as an ACL file (`aclfile` in redis.conf): one for each node, which\n"
             "writes as itself and reads what is for it, and one for you, admin. Their passwords are made in a folder\n"
             "that only you can read, one file a user; the list has their hashes only. A file that is there is used\n"
             "again, so nodes can be added. Bring each node its own file, and nothing else.",
     .examples = "inbox-poller nodes acl --team demo --leader h1 --follower h2 --secrets ~/redis-secrets > users.acl",
     .arguments = nodes_acl_takes, .work = runs<acl>, .prints = operations::shapes<operations::NodesAcl>},
};
// clang-format on

}  // namespace

std::span<const Command> nodes_acl_commands() { return nodes_acl_rows; }

}  // namespace inbox_poller::poller::cli
