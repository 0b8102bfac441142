// The members of a maildir team: the configured ones, or else all actors with a mailbox or a letter to the lead.
#include <algorithm>

#include "poller/mailbox/maildir/maildir_mailbox.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::size_t most_names = 500;

bool same_people(const schema::Roster& one, const schema::Roster& other) {
  return std::equal(one.members.begin(), one.members.end(), other.members.begin(), other.members.end(),
                    [](const schema::Member& a, const schema::Member& b) { return a.name == b.name; }) &&
         one.unreachable == other.unreachable;
}

}  // namespace

schema::Roster MaildirMailbox::read_roster() {
  schema::Roster roster;
  roster.name = settings_.team;
  roster.lead_agent_id = settings_.lead;
  std::set<std::string> names(settings_.members.begin(), settings_.members.end());
  if (names.empty()) {
    for (const Folder& folder : folders_) {
      if (!folder.has_new) continue;
      names.insert(folder.name);
      if (folder.name == settings_.lead && folder.changed) static_cast<void>(look(box(folder.name)));
    }
    for (const Mail& mail : box(settings_.lead).mail.in_order())
      if (senders_.size() < most_names) senders_.insert(mail.from);
    names.insert(senders_.begin(), senders_.end());
  }
  names.erase(settings_.lead);
  names.erase("");
  for (const std::string& name : names) {
    if (!is_actor_name(name)) {
      roster.unreachable.push_back(
          {name, "its name cannot be an actor's: use A-Z a-z 0-9 _ -, at most 64 characters, no - in front, not \"tmp\" or \"tasks\""});
      continue;
    }
    schema::Member member;
    member.name = member.agent_id = name;
    member.backend_type = "maildir";
    roster.members.push_back(std::move(member));
  }
  return roster;
}

bool MaildirMailbox::roster_changed() {
  around_ = look_around();
  if (!roster_ || !around_->ok()) return true;
  return !is_idle_ && settings_.members.empty() && !same_people(*roster_, read_roster());
}

bool MaildirMailbox::is_heard(const std::string& sender) const {
  const bool becomes_one = settings_.members.empty() && sender != settings_.lead && is_actor_name(sender);
  if (!roster_ || !becomes_one || senders_.size() >= most_names) return true;
  const auto found = std::ranges::lower_bound(roster_->members, sender, {}, &schema::Member::name);
  return found != roster_->members.end() && found->name == sender;
}

Result<schema::Roster> MaildirMailbox::roster() {
  const Status around = look_around();
  if (!around.ok() && around.error().code == "root.missing") return Error{"roster.missing", around.error().message};
  if (!around.ok()) return Error{"roster.unreadable", around.error().message};
  roster_ = read_roster();
  return *roster_;
}

WriteReceipt MaildirMailbox::remove_member(const std::string& name) {
  return {WriteStatus::gone, name + " is there as long as its folder is: that is its own"};
}

}  // namespace inbox_poller::poller
