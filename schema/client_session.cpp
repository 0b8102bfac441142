#include "schema/client_session.hpp"

#include <charconv>

#include "schema/client_version.hpp"
#include "schema/field_reader.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::string_view suffix = ".json";

std::string start_of(FieldReader& fields) {
  const std::string_view started = fields.token("procStart").value_or("null");
  if (kind_of(started) == JsonKind::number) return std::string(started);
  return kind_of(started) == JsonKind::string ? decode_string(started).value_or("") : std::string();
}

}  // namespace

std::optional<ClientSession> decode_client_session(std::string_view bytes) {
  const auto members = scan_object(bytes);
  if (!members) return std::nullopt;
  FieldReader fields(bytes, *members);  // its problems are fields of another type
  ClientSession session;
  session.pid = fields.integer("pid");
  session.updated_ms = fields.integer("updatedAt");
  session.started = start_of(fields);
  fields.strings({{"sessionId", session.session_id},
                  {"entrypoint", session.entrypoint},
                  {"status", session.status}});
  if (const auto version = parse_client_version(fields.string("version"))) session.version = to_string(*version);
  return session.pid > 0 ? std::optional(std::move(session)) : std::nullopt;
}

long long pid_of_session_file(std::string_view name) {
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  long long pid = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool is_number = problem == std::errc{} && end == name.data() + name.size() && pid > 0;
  return is_number && std::to_string(pid) == name ? pid : 0;
}

}  // namespace inbox_poller::schema
