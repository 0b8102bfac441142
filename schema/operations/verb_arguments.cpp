// The tables of all requests.
#include "schema/operations/verb_arguments.hpp"

#include "schema/operations/make_shape.hpp"

#define INBOX_POLLER_ARGUMENTS(X)                                                                                  \
  X(Status)                                                                                                        \
  X(Pending) X(Approve) X(Deny) X(Resolve) X(Send) X(Broadcast) X(Lead) X(Attach) X(Hook) X(Shown) X(WorkerCall) X(WorkerTurn)     \
      X(Evaluate) X(Decisions) X(Recv) X(Ack) X(Trace) X(History) X(Shutdown) X(Shutdowns) X(Mode) X(Assign) X(Allow) \
          X(Revoke) X(Rules) X(DryRun) X(SuggestRules) X(Reload) X(Resume) X(Wait) X(Changes) X(Quarantine)

namespace inbox_poller::operations {

#define X(Request)                              \
  template <>                                   \
  const Shape& shape_of<arguments::Request>() { \
    return table<arguments::Request>(#Request); \
  }
INBOX_POLLER_ARGUMENTS(X)
X(Envelope)
#undef X

}  // namespace inbox_poller::operations

namespace inbox_poller::arguments {

namespace json = boost::json;

namespace {

template <class Request>
Row row() {
  using operations::shape_of;
  Row row{Request::verb, Request::about, {}, &shape_of<Request>(), operations::encode(Request()), nullptr};
  if constexpr (requires { Request::need; }) row.needed = Request::need.field;
  if constexpr (!std::is_same_v<typename Request::Answer, Done>) row.answer = &shape_of<typename Request::Answer>();
  return row;
}

}  // namespace

json::object on_wire(std::string_view verb, const operations::Shape& shape, const void* request, const void* usual) {
  json::object object{{"verb", verb}};
  const json::object left_out = operations::encode(shape, usual);
  for (auto& [name, value] : operations::encode(shape, request)) {
    const json::value* same = left_out.if_contains(name);
    if (same == nullptr || *same != value) object.emplace(name, std::move(value));
  }
  return object;
}

std::span<const Row> rows() {
#define X(Request) row<Request>(),
  static const Row all[] = {INBOX_POLLER_ARGUMENTS(X)};
#undef X
  return all;
}

}  // namespace inbox_poller::arguments
#undef INBOX_POLLER_ARGUMENTS
