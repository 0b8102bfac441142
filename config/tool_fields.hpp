// The input fields of the clients' tools, for rules of the form `Tool(field:value)`: which fields a rule can use, and
// the alternative for other fields. Not the input of a call (config/tool_call). Source: the clients' public
// documentation of their tools, and recorded calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::config {

/// A specifier of the form "field:value"; both are views of the rule's text.
struct FieldRule {
  std::string_view field;
  std::string_view value;
};

/// Parses "field:value" with a field of letters, digits, '_' and '-'. Empty for every other specifier, and for the
/// command `timeout:*`, the agent `plugin:name` and the skill `plugin:name`, which name no field.
std::optional<FieldRule> field_rule(std::string_view tool, std::string_view specifier);

/// Returns why no call of a known tool can match this field, and the alternative. Empty: one can, or the tool's fields
/// are unknown.
std::optional<std::string> field_problem(std::string_view tool, const FieldRule&);

/// Returns why the field never has this value: `run_in_background:yes`. Empty: it may.
std::optional<std::string> value_problem(std::string_view tool, const FieldRule&);

}  // namespace inbox_poller::config
