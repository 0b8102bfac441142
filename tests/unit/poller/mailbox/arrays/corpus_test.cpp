// Runs the readers over files that real clients wrote, when INBOX_CORPUS names a folder of them (they are not part of
// this project). What they must show: every entry is found, decoded and classified, and nothing real counts as
// malformed.
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "schema/codec.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "poller/mailbox/arrays/inbox_document.hpp"
#include "schema/json_scan.hpp"
#include "schema/roster.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::corpus_test {

using namespace inbox_poller::schema;
using namespace inbox_poller::poller;
namespace fs = std::filesystem;

namespace {

struct Summary {
  std::size_t inboxes = 0, rosters = 0, members = 0, entries = 0, payloads = 0, malformed = 0;
  std::map<std::string, std::size_t> types;

  void count(const Payload& payload) {
    const bool bad = std::holds_alternative<MalformedPayload>(payload);
    malformed += bad ? 1 : 0;
    ++types[std::string(type_name(payload)) + (bad ? " (malformed)" : "")];
  }
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t elements_by_boost(const std::string& bytes) { return boost::json::parse(bytes).as_array().size(); }

/// Every entry of one inbox file; the payloads that are malformed are counted and returned.
std::vector<std::string> read_inbox(const fs::path& path, Summary& summary) {
  const std::string bytes = content_of(path);
  const InboxDocument document = InboxDocument::scan(bytes, {"team", path.stem().string()});
  CHECK_FALSE(document.problem());
  CHECK(document.entries().size() == elements_by_boost(bytes));
  ++summary.inboxes;
  std::vector<std::string> malformed;
  for (std::size_t i = 0; i < document.entries().size(); ++i) {
    CAPTURE(i);
    const auto envelope = decode_entry(document.entry_bytes(document.entries()[i]));
    if (!envelope) FAIL(envelope.error().message);
    ++summary.entries;
    const Payload payload = decode_payload(envelope->text);
    summary.count(payload);
    if (const auto* bad = std::get_if<MalformedPayload>(&payload)) malformed.push_back(bad->type + ": " + bad->problem);
  }
  const std::size_t all = document.entries().size();
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < all; ++i) indexes.push_back(i);
  const std::string entry = encode_entry({"team-lead", "x", "", "t", "", "id"});
  const InboxDocument longer = InboxDocument::scan(document.with_appended(entry), {"team", path.stem().string()});
  CHECK(longer.entries().size() == all + 1);
  CHECK(longer.with_removed(std::vector{all}) == bytes);
  CHECK(InboxDocument::scan(document.with_marked_read(indexes, bytes), {}).entries().size() == all);
  return malformed;
}

void read_roster(const fs::path& path, Summary& summary) {
  const std::string bytes = content_of(path);
  const auto roster = decode_roster(bytes);
  if (!roster) FAIL(roster.error().message);
  CHECK(roster->lead_name() == "team-lead");
  CHECK(roster->members.size() == boost::json::parse(bytes).at("members").as_array().size());
  ++summary.rosters;
  summary.members += roster->members.size();
}

Payload read_payload(std::string_view text, Summary& summary) {
  const Payload payload = decode_payload(text);
  ++summary.payloads;
  summary.count(payload);
  return payload;
}

void read_real(const fs::path& folder, Summary& summary) {
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    if (item.path().extension() != ".json") continue;
    CAPTURE(item.path().string());
    if (name == "final.config.json") {
      read_roster(item.path(), summary);
    } else {
      CHECK(read_inbox(item.path(), summary).empty());
    }
  }
}

std::map<std::string, std::string> members_of(const std::string& object) {
  std::map<std::string, std::string> result;
  const auto members = scan_object(object);
  REQUIRE(members.ok());
  for (const MemberSpan& member : *members) {
    result[decode_string(member.key.of(object)).value()] = std::string(member.value.of(object));
  }
  return result;
}

/// The samples that show wrong shapes: what a real worker does not take for an answer must not look like one to us.
void read_variants(const fs::path& folder, Summary& summary) {
  for (const auto& [name, text] : members_of(content_of(folder / "35-casing-variants-permission-response.json"))) {
    CAPTURE(name);
    const bool honored = name == "claude_code_wire";
    CHECK(std::holds_alternative<PermissionResponse>(read_payload(text, summary)) == honored);
  }
  for (const auto& [name, text] : members_of(content_of(folder / "36-casing-variants-permission-request.json"))) {
    CAPTURE(name);
    CHECK(std::holds_alternative<PermissionRequest>(read_payload(text, summary)));
  }
  for (const auto& [name, text] : members_of(content_of(folder / "37-foreign-envelopes.json"))) {
    CAPTURE(name);
    const auto envelope = decode_entry(text);
    const bool readable = name != "crate_agent_teams_0_1_0";  // says `content` instead of `text`
    CHECK(envelope.ok() == readable);
    if (!readable) CHECK(envelope.error().message == "text: expected a string, found nothing");
  }
}

void read_public(const fs::path& folder, Summary& summary) {
  for (const auto& item : fs::directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    CAPTURE(name);
    if (name.find("-inbox-") != std::string::npos) {
      const bool wrong_by_design = name.find("wrong-permission-response") != std::string::npos;
      CHECK(read_inbox(item.path(), summary).empty() != wrong_by_design);
    } else if (name.find("-envelope-") != std::string::npos && name.find("40-") != 0) {
      CHECK(read_inbox(item.path(), summary).empty());
    } else if (name.find("-payload-") != std::string::npos) {
      CHECK_FALSE(std::holds_alternative<MalformedPayload>(read_payload(content_of(item.path()), summary)));
    } else if (name.find("-config-") != std::string::npos) {
      read_roster(item.path(), summary);
    } else if (name.find("34-") == 0) {
      const std::string bytes = content_of(item.path());
      for (const Span& payload : scan_array(bytes).elements) {
        CHECK_FALSE(std::holds_alternative<MalformedPayload>(read_payload(payload.of(bytes), summary)));
      }
    }
  }
  read_variants(folder, summary);
}

}  // namespace

TEST_CASE("every recorded file of real clients is read, and each of its messages is classified") {
  const char* corpus = std::getenv("INBOX_CORPUS");
  if (corpus == nullptr || *corpus == '\0') {
    std::cout << "SKIPPED: INBOX_CORPUS is not set" << std::endl;
    SUCCEED();
    return;
  }
  const fs::path folder(corpus);
  REQUIRE(fs::is_directory(folder / "real"));
  REQUIRE(fs::is_directory(folder / "public"));
  Summary summary;
  read_real(folder / "real", summary);
  CHECK(summary.malformed == 0);
  const std::size_t real_entries = summary.entries;
  read_public(folder / "public", summary);
  CHECK(real_entries > 0);
  CHECK(summary.entries > real_entries);

  std::cout << "corpus: " << summary.inboxes << " inboxes with " << summary.entries << " entries (" << real_entries
            << " of them recorded by us), " << summary.payloads << " single payloads, " << summary.rosters
            << " rosters with " << summary.members << " members\n";
  for (const auto& [type, count] : summary.types) std::cout << "  " << count << "\t" << type << "\n";
  std::cout << std::flush;
}

}  // namespace inbox_poller::corpus_test
