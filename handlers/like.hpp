// Which open asks are like one: those that the rule which `--always` would make from it covers. Pure.
#pragma once

#include <string_view>

#include "handlers/ask_kind.hpp"

namespace inbox_poller::handlers {

/// The rule that an approval of this ask with `--always` would add, or why there is none.
std::variant<NewRule, NotTaken> rule_like(const Ask&, const TeamView&);

/// True when this rule, and no other, would allow that ask. `cwd`: the folder in which it would be carried out.
bool covers(const NewRule&, const Ask&, std::string_view cwd, const TeamView&);

/// What the rules as they are now make of an ask that waits: one of them allows or denies it. Nothing where none speaks
/// about it, or one that asks; defaults, settings and our word on what is no rule's matter decide nothing here.
std::optional<config::Verdict> ruled(const Ask&, std::string_view cwd, const TeamView&);

}  // namespace inbox_poller::handlers
