// `completion`: shell completion from the command table. The shells' scripts only call `inbox-poller __complete
// WORDS…`. Open requests, workers and teams come from the daemon.
#include <boost/json.hpp>
#include <map>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/inbox_entries.hpp"
#include "poller/cli/printable.hpp"
#include "schema/operations/message.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds most_for_values{300};  // a person waits for the key's effect

constexpr std::string_view bash_script = R"(_inbox_poller() {
  local IFS=$'\n'
  COMPREPLY=($(inbox-poller __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  [ "${#COMPREPLY[@]}" -gt 0 ] || compopt -o default
}
complete -F _inbox_poller inbox-poller
)";
constexpr std::string_view zsh_script = R"(#compdef inbox-poller
_inbox_poller() {
  local -a found
  found=("${(@f)$(inbox-poller __complete "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t/:/')}")
  if [[ -n "$found" ]]; then _describe inbox-poller found; else _files; fi
}
compdef _inbox_poller inbox-poller
)";
constexpr std::string_view fish_script =
    "complete -c inbox-poller -f -a '(inbox-poller __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n";

struct Offer {
  std::string word;
  std::string what;
};
using Offers = std::vector<Offer>;

/// Returns the daemon's answer; an empty one when it does not answer in time.
template <class Request>
typename Request::Answer told(const Context& context) {
  const auto socket = context.socket_path();
  auto client = socket ? ControlClient::connect(*socket, most_for_values) : Result<ControlClient>(socket.error());
  const auto answer = client ? context.ask(*client, Request(), most_for_values) : client.error();
  return answer ? *answer : typename Request::Answer();
}

Offers requests(const Context& context) {
  Offers offers;
  std::map<std::string, int> times;
  std::vector<std::string> askers;
  for (const auto& request : told<arguments::Pending>(context).requests) {
    offers.push_back({request.request_id.bytes, request.member.bytes + ": " + request.subject.bytes});
    askers.push_back(request.member.bytes);
    ++times[offers.back().word];
  }
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (times[offers[i].word] > 1) offers[i].word.insert(0, askers[i] + "/");
  return offers;
}

Offers teams(const Context& context) {
  Offers offers;
  for (const auto& team : told<arguments::Status>(context).teams) offers.push_back({team.team.bytes, team.role.bytes});
  return offers;
}

Offers workers(const Context& context) {
  Offers offers;
  for (const auto& team : told<arguments::Status>(context).teams)
    for (const auto& worker : team.members) offers.push_back({worker.member.bytes, "in team " + team.team.bytes});
  return offers;
}

/// Offers the newest messages, by the key prefix that `history` shows.
Offers messages(const Context& context) {
  constexpr std::size_t shown_key = 12;
  Offers offers;
  for (const auto& message : told<arguments::History>(context).messages) {
    const std::string text = message.subject.value_or(message.text).bytes;
    offers.push_back({message.message_key.bytes.substr(0, shown_key),
                      message.sender.bytes + ": " + shortened(text.substr(0, text.find('\n')), 60)});
  }
  return offers;
}

Offers commands_of(const CLI::App& app) {
  Offers offers;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!one->get_group().empty()) offers.push_back({one->get_name(), one->get_description()});
  return offers;
}

/// Offers the present values of an argument, by the argument's name.
Offers arguments_of(const Context& context, const CLI::App& command, const std::string& argument) {
  const std::string& name = command.get_name();
  if (argument == "ID" && (name == "approve" || name == "deny")) return requests(context);
  if (argument == "KEY") return messages(context);
  if (argument == "ID" && name == "trace") {
    Offers offers = requests(context);
    const Offers more = messages(context);
    offers.insert(offers.end(), more.begin(), more.end());
    return offers;
  }
  if (argument == "TO" || argument == "MEMBER") return workers(context);
  if (name != "help" && name != "completion") return {};
  if (name == "completion") return {{"bash", ""}, {"zsh", ""}, {"fish", ""}};
  return commands_of(*command.get_parent());
}

/// Returns the long name of an option if it has one.
std::string long_name(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  if (!names.empty()) return "--" + names.front();
  return option.get_snames().empty() ? "" : '-' + option.get_snames().front();
}

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  for (const CLI::App* here = &app; here != nullptr; here = here->get_parent())
    if (const CLI::Option* option = here->get_option_no_throw(word)) return option;
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

Offers options_of(const CLI::App& app) {
  Offers offers;
  for (const CLI::App* here = &app; here != nullptr; here = here->get_parent())
    for (const CLI::Option* option : here->get_options())
      if (!option->get_positional() && !long_name(*option).empty() && !option->get_group().empty())
        offers.push_back({long_name(*option), option->get_description()});
  return offers;
}

/// Offers the candidates for the last of these words.
Offers offers_for(const Context& context, const CLI::App& line, std::vector<std::string> words) {
  const std::string last = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  const CLI::App* here = &line;
  const CLI::Option* wants = nullptr;
  std::size_t positions = 0;
  for (const std::string& word : words) {
    if (wants != nullptr) {
      wants = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* const option = find_option(*here, word);
      wants = option != nullptr && takes_value(*option) ? option : nullptr;
    } else if (const CLI::App* const below = command_below(*here, word)) {
      here = below;
    } else {
      ++positions;
    }
  }
  if (wants != nullptr) return long_name(*wants) == "--team" ? teams(context) : Offers();
  if (last.starts_with('-')) return options_of(*here);
  Offers offers = positions == 0 ? commands_of(*here) : Offers();
  std::size_t place = 0;
  for (const CLI::Option* option : here->get_options()) {
    if (!option->get_positional()) continue;
    const bool repeats = option->get_items_expected_max() > 1;
    if (place++ != positions && !repeats) continue;
    const Offers more = arguments_of(context, *here, option->get_name(true));
    offers.insert(offers.end(), more.begin(), more.end());
  }
  return offers;
}

struct CompletionOptions {
  std::string shell;
};

ExitCode completion(Context& context, const CompletionOptions& options) {
  return context.print(options.shell == "bash" ? bash_script : options.shell == "zsh" ? zsh_script : fish_script);
}

}  // namespace

ExitCode complete(Context& context, const CLI::App& line, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  std::string text;
  for (const Offer& offer : offers_for(context, line, words)) {
    // Words that would need quoting are not offered.
    if (offer.word.empty() || !offer.word.starts_with(last) || shell_word(offer.word) != offer.word) continue;
    text += offer.word + '\t' + printable(offer.what) + '\n';
  }
  return context.print(text);
}

namespace {

// clang-format off
constexpr Argument completion_takes[] = {takes<&CompletionOptions::shell>("SHELL", "bash, zsh or fish").required().one_of("bash, zsh, fish")};

constexpr Command completion_rows[] = {
    {.name = "completion", .group = Group::set_up, .summary = "Print what a shell needs to complete our words",
     .help = "Prints what the shell needs for TAB to complete commands, options, and what is there right now: open requests\n"
             "with what they are, workers, teams. A package puts these into their places; by hand:",
     .examples = "inbox-poller completion bash > ~/.local/share/bash-completion/completions/inbox-poller\n"
                 "inbox-poller completion zsh > ~/.zfunc/_inbox-poller\n"
                 "inbox-poller completion fish > ~/.config/fish/completions/inbox-poller.fish",
     .arguments = completion_takes, .work = runs<completion>},
};
// clang-format on

}  // namespace

std::span<const Command> completion_commands() { return completion_rows; }

}  // namespace inbox_poller::poller::cli
