// The input fields of the tools that clients have, for rules of the form `Tool(field:value)`: which of them a rule can
// be about, and what to write where it is about none. Not the input of a call (config/tool_call). Source: the clients'
// public documentation of their tools, and recorded calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// A specifier of the form "field:value"; both lie in the rule's text.
struct FieldRule {
  std::string_view field;
  std::string_view value;
};

/// Reads "field:value", the field being letters, digits, '_' and '-'. Empty for every other specifier, and for the
/// command `timeout:*`, the agent `plugin:name` and the skill `plugin:name`, which name no field of their tools.
std::optional<FieldRule> field_rule(std::string_view tool, std::string_view specifier);

/// Says why no call of a known tool can be met through this field, and what to write instead. Empty: one can, or the
/// tool's fields are not known here.
std::optional<std::string> field_problem(std::string_view tool, const FieldRule&);

/// Says that a value can never stand in the field: `run_in_background:yes`. Empty: it can.
std::optional<std::string> value_problem(std::string_view tool, const FieldRule&);

}  // namespace inbox_poller::config
