#include "poller/cli/inbox_entries.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

#include "poller/cli/command.hpp"
#include "schema/codec.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr std::chrono::seconds lock_patience{5};

Error said(std::string_view code, std::string message, const std::string& detail) {
  return {std::string(code), detail.empty() ? std::move(message) : message + ": " + detail};
}

}  // namespace

EntryView view_of(const InboxDocument& document, const InboxEntry& entry) {
  EntryView view;
  view.key = entry.key.value;
  view.read = entry.read == ReadFlag::read;
  const Result<schema::Message> envelope = decode_entry(document.entry_bytes(entry));
  if (!envelope) {
    view.type = "malformed";
    view.text = document.entry_bytes(entry);
    view.problem = envelope.error().message;
    return view;
  }
  view.from = envelope->from;
  view.type = schema::type_name(schema::decode_payload(envelope->text));
  view.timestamp = envelope->timestamp;
  view.summary = envelope->summary;
  view.text = envelope->text;
  return view;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = 0;
  while (end < limit) {
    const std::size_t next = end + schema::code_point_at(text, end).length;
    if (next > limit) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "…";
}

Result<std::vector<std::size_t>> entries_with_keys(const InboxDocument& document,
                                                   const std::vector<std::string>& keys) {
  std::vector<std::size_t> chosen;
  for (const std::string& key : keys) {
    std::vector<std::size_t> matches;
    for (std::size_t i = 0; i < document.entries().size(); ++i) {
      const std::string& whole = document.entries()[i].key.value;
      if (whole == key) {
        matches = {i};
        break;
      }
      if (whole.starts_with(key)) matches.push_back(i);
    }
    if (key.empty() || matches.empty())
      return Error{"inbox.no_such_key", "no entry has a key that begins with \"" + key + "\""};
    if (matches.size() > 1)
      return Error{"inbox.ambiguous_key", std::to_string(matches.size()) + " entries have keys that begin with \"" +
                                              key + "\"; give more of it"};
    chosen.push_back(matches.front());
  }
  return chosen;
}

std::vector<std::size_t> entries_that_are(bool read, const InboxDocument& document) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < document.entries().size(); ++i)
    if ((document.entries()[i].read == ReadFlag::read) == read) chosen.push_back(i);
  return chosen;
}

std::optional<Error> refuse_control_text(std::string_view text) {
  const schema::Payload payload = schema::decode_payload(text);
  if (std::holds_alternative<schema::PlainText>(payload)) return std::nullopt;
  return Error{"inbox.control_text", "the text is a control message of the type \"" +
                                         std::string(schema::type_name(payload)) +
                                         "\": a client would act on it, not read it. --raw sends it nevertheless"};
}

WriteResult patiently(const Clock& clock, const Wait& wait, const std::function<WriteResult()>& attempt) {
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<int> pause_ms(5, 50);
  const SteadyTime deadline = clock.steady() + lock_patience;
  for (;;) {
    WriteResult result = attempt();
    const bool passes = result.outcome == WriteOutcome::lock_held || result.outcome == WriteOutcome::changed;
    if (!passes || clock.steady() >= deadline) return result;
    wait(std::chrono::milliseconds(pause_ms(random)));
  }
}

Status as_status(const WriteResult& result, const std::string& inbox) {
  switch (result.outcome) {
    case WriteOutcome::done:
    case WriteOutcome::already_there: return Done{};
    case WriteOutcome::lock_held:
      return said("inbox.locked",
                  "the inbox of " + inbox + " stayed locked for 5 s; nothing was done, try again, or see " +
                      "`inbox-poller doctor`",
                  result.detail);
    case WriteOutcome::lock_foreign:
      return said("inbox.lock_foreign", "something else is in the lock's place", result.detail);
    case WriteOutcome::changed:
      return said("inbox.changed", "others kept changing the inbox of " + inbox + " for 5 s; try again", result.detail);
    case WriteOutcome::missing: return said("inbox.missing", "no inbox exists for " + inbox, result.detail);
    case WriteOutcome::refused:
      return said("inbox.refused", "the inbox of " + inbox + " was left alone", result.detail);
    case WriteOutcome::fault: break;
  }
  return said("inbox.fault", "the inbox of " + inbox + " could not be written", result.detail);
}

Status as_status(const ReadResult& result, const std::string& inbox) {
  switch (result.outcome) {
    case ReadOutcome::document: return Done{};
    case ReadOutcome::missing: return said("inbox.missing", "no inbox exists for " + inbox, result.detail);
    case ReadOutcome::empty:
      return said("inbox.torn", "the inbox of " + inbox + " is a file without contents, which is not an empty inbox",
                  result.detail);
    case ReadOutcome::torn:
      return said("inbox.torn", "the inbox of " + inbox + " cannot be read as it is", result.detail);
    case ReadOutcome::not_regular:
    case ReadOutcome::too_large: return said("inbox.refused", "the inbox of " + inbox + " was not read", result.detail);
    case ReadOutcome::lock_held: return said("inbox.locked", "the inbox of " + inbox + " is locked", result.detail);
    case ReadOutcome::fault: break;
  }
  return said("inbox.fault", "the inbox of " + inbox + " could not be read", result.detail);
}

bool is_served(const boost::json::object& status, const std::string& inbox_path) {
  // The daemon may use another path to the same folder, through a link above the team's folder.
  const auto real = [](const std::string& path) {
    std::error_code ignored;
    const auto found = std::filesystem::weakly_canonical(path, ignored);
    return ignored ? std::filesystem::path(path) : found;
  };
  const auto teams = objects_of(status, "teams");
  return std::any_of(teams.begin(), teams.end(), [&](const auto* team) {
    const std::string served = raw_text_of(object_of(*team, "inbox"), "path");
    return !served.empty() && real(served) == real(inbox_path);
  });
}

}  // namespace inbox_poller::poller::cli
