#include "poller/mailbox/arrays/inbox_reading.hpp"

#include <algorithm>
#include <utility>

#include "poller/mailbox/arrays/replacement.hpp"

namespace inbox_poller::poller {

bool is_blank(const InboxDocument& document) {
  return !document.problem() && !document.is_part() && document.bytes().find('[') == std::string_view::npos;
}

std::string describe(const schema::ScanProblem& problem) {
  return problem.what + " at byte " + std::to_string(problem.offset);
}

namespace {

using schema::ArrayFrom;

constexpr std::size_t chunk_size = std::size_t{64} << 10;  // fits the processor's cache; needs no pages of its own

void judge(ReadResult& result, const std::string& path) {
  if (result.document.problem()) {
    result.outcome = ReadOutcome::torn;
    const schema::ScanProblem& problem = *result.document.problem();
    add_detail(result.detail, path + " is not one JSON array: " + describe(problem));
  } else if (result.skipped == 0 && result.document.entries().empty() && is_blank(result.document)) {
    result.outcome = ReadOutcome::empty;
  }
}

Result<std::string> read_range(FileSystem& files, const File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  TRY(const auto count, files.read_at(file, bytes.data(), size, offset));
  bytes.resize(count);
  return bytes;
}

/// Follows the checkpoints as long as the bytes have their hashes. `next` returns at most that many bytes, in order;
/// no bytes at the end or after a fault.
template <typename Next>
Head recognize_by(Next next, std::uint64_t size, const PrefixCache& known) {
  Head best;
  Head running;
  for (const PrefixCache::Checkpoint* border : {&known.settled(), &known.whole()}) {
    if (border->entries == running.entries) continue;
    if (border->offset > size) break;
    while (running.offset < border->offset) {
      const std::string_view bytes = next(border->offset - running.offset);
      if (bytes.empty()) return best;
      running.hash.add(bytes);
      running.offset += bytes.size();
    }
    if (running.hash.value() != border->hash) break;
    running.entries = border->entries;
    best = running;
  }
  return best;
}

Result<Head> recognize_file(FileSystem& files, const File& file, const PrefixCache& known) {
  std::optional<Error> fault;
  const auto buffer = std::make_unique_for_overwrite<char[]>(known.size() > 0 ? chunk_size : 0);
  std::uint64_t offset = 0;
  const auto next = [&](std::uint64_t most) -> std::string_view {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, chunk_size));
    const Result<std::size_t> count = files.read_at(file, buffer.get(), size, offset);
    if (!count) fault = count.error();
    if (!count) return {};
    offset += *count;
    return {buffer.get(), *count};
  };
  Head head = recognize_by(next, file.stat.size, known);
  if (fault) return *fault;
  return head;
}

/// Scans from the head to the end of the file in pieces. An entry that does not fit makes the next piece larger. A
/// remaining problem is that of the last piece.
Status scan_pieces(FileSystem& files, const File& file, const schema::KeyScope& scope, std::size_t window,
                   ReadResult& result) {
  std::uint64_t offset = result.head.offset;
  for (std::size_t wanted = window;;) {
    const std::uint64_t rest = file.stat.size - offset;
    const bool is_last = rest <= wanted;
    TRY(auto bytes, read_range(files, file, offset, is_last ? static_cast<std::size_t>(rest) : wanted));
    const ArrayFrom from = offset > 0 ? ArrayFrom::element : ArrayFrom::beginning;
    InboxDocument piece = InboxDocument::scan(std::move(bytes), scope, {offset, from, !is_last});
    if (is_last && result.windows.empty()) {  // all of it is in memory
      result.windows.push_back({0, piece.entries().size(), {offset, offset + piece.bytes().size()}, {}});
      result.document = std::move(piece);
      return Done{};
    }
    if (!is_last && !piece.problem() && piece.entries().empty()) {
      wanted *= 2;
      continue;
    }
    std::uint64_t end = offset + piece.bytes().size();
    if (!is_last && !piece.entries().empty()) end = piece.entries().back().bytes.end;
    const std::size_t first = result.document.entries().size();
    const auto hash = hash_of(piece.bytes().substr(0, end - offset));
    result.windows.push_back({first, first + piece.entries().size(), {offset, end}, hash});
    result.document.append(std::move(piece));
    if (is_last || result.document.problem()) return Done{};
    offset = end;
    wanted = window;
  }
}

}  // namespace

ReadResult read_whole(const InboxSource& source, Snapshot& snapshot) {
  snapshot = take_snapshot(source.files, source.clock, source.folder, source.file, source.limit);
  ReadResult result;
  result.outcome = snapshot.outcome;
  result.detail = snapshot.detail;
  if (snapshot.outcome != ReadOutcome::document && snapshot.outcome != ReadOutcome::torn) return result;
  result.document = InboxDocument::scan(std::move(snapshot.bytes), source.scope);
  result.windows.push_back({0, result.document.entries().size(), {0, result.document.bytes().size()}, {}});
  if (snapshot.outcome == ReadOutcome::document) judge(result, source.folder.path + "/" + source.file);
  return result;
}

ReadResult read_behind(const InboxSource& source, const PrefixCache& known, Snapshot& snapshot, std::size_t window) {
  FileSystem& files = source.files;
  snapshot = open_snapshot(files, source.clock, source.folder, source.file, source.limit);
  ReadResult result;
  result.outcome = snapshot.outcome;
  result.detail = snapshot.detail;
  result.knew = known.size();
  if (snapshot.outcome != ReadOutcome::document) return result;
  const auto fault = [&](const Error& error) {
    result.outcome = ReadOutcome::fault;
    result.detail = error.message;
    return std::move(result);
  };

  Result<Head> head = recognize_file(files, *snapshot.file, known);
  if (!head) return fault(head.error());
  result.head = *std::move(head);
  result.skipped = result.head.entries;
  if (Status scanned = scan_pieces(files, *snapshot.file, source.scope, window, result); !scanned.ok())
    return fault(scanned.error());
  close_snapshot(files, result.windows.back().bytes.end, snapshot);
  if (snapshot.outcome == ReadOutcome::document) judge(result, source.folder.path + "/" + source.file);
  bool whole = snapshot.outcome != ReadOutcome::document || result.outcome == ReadOutcome::torn ||
               result.document.entries().size() > most_entries;
  if (!whole && result.windows.size() > 1) {
    result.file = std::make_shared<const File>(*std::move(snapshot.file));
    whole = !show_window(files, result, 0);
  }
  if (whole) {
    result = read_whole(source, snapshot);
    result.knew = known.size();
  }
  known.number(result.document, result.skipped);
  return result;
}

bool show_window(FileSystem& files, ReadResult& reading, std::size_t window) {
  if (reading.windows.size() == 1) return true;
  const schema::Span& range = reading.windows[window].bytes;
  Result<std::string> bytes = read_range(files, *reading.file, range.begin, range.size());
  if (!bytes) return false;
  if (hash_of(*bytes) != reading.windows[window].hash) return false;
  reading.document.show(*std::move(bytes), range.begin);
  return true;
}

Head recognize(std::string_view bytes, const PrefixCache& known) {
  const std::size_t size = bytes.size();
  const auto next = [&](std::uint64_t most) {
    const std::string_view some = bytes.substr(0, static_cast<std::size_t>(most));
    bytes.remove_prefix(some.size());
    return some;
  };
  return recognize_by(next, size, known);
}

}  // namespace inbox_poller::poller
