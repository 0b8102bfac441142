#include "poller/mailbox/jsonl/box_records.hpp"

#include <boost/json.hpp>
#include <cerrno>

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

json::value to_json(const BoxRecord& record) {
  json::object out{{"generation", record.generation}};
  if (const auto& mark = record.emptying)
    out["emptying"] = {{"inode", mark->inode}, {"size", mark->size}, {"ctime_ns", mark->ctime_ns}, {"tail", mark->tail}};
  json::array aside;
  for (const auto& file : record.aside)
    aside.push_back({{"name", file.name},
                     {"inode", file.inode},
                     {"generation", file.generation},
                     {"since_ms", file.since_ms}});
  if (!aside.empty()) out["aside"] = std::move(aside);
  return out;
}

/// Reads one record; throws if the value has another shape.
BoxRecord from_json(const json::value& value) {
  const auto number = [](const json::value& from, const char* name) { return from.at(name).to_number<std::uint64_t>(); };
  BoxRecord record;
  record.generation = number(value, "generation");
  if (const auto* mark = value.as_object().if_contains("emptying"))
    record.emptying = FileMark{number(*mark, "inode"), number(*mark, "size"),
                               mark->at("ctime_ns").to_number<std::int64_t>(), std::string(mark->at("tail").as_string())};
  if (const auto* aside = value.as_object().if_contains("aside"))
    for (const auto& file : aside->as_array())
      record.aside.push_back({std::string(file.at("name").as_string()), number(file, "inode"),
                              number(file, "generation"), file.at("since_ms").to_number<std::int64_t>()});
  return record;
}

}  // namespace

FileNow judge(const FileMark& mark, const FileStat& now, const std::string& tail_now) {
  // The file is untouched: emptying and each later write change the ctime.
  if (now.ino == mark.inode && now.size == mark.size && now.ctime_ns == mark.ctime_ns) return FileNow::as_marked;
  // A changed file that is not longer was emptied and filled again, perhaps with the same bytes.
  if (now.size <= mark.size) return FileNow::emptied;
  return tail_now == mark.tail ? FileNow::as_marked : FileNow::emptied;
}

Status BoxRecords::load() {
  if (is_loaded_) return Done{};
  const auto file = files_.open_read(absolute, path_);
  is_loaded_ = !file && is_errno(file.error(), ENOENT);
  if (!file) return is_loaded_ ? Status(Done{}) : Status(file.error());
  TRY(const auto bytes, read_all(files_, *file));
  is_loaded_ = true;
  try {
    const json::value all = json::parse(bytes);
    for (const auto& [box, record] : all.as_object()) records_[std::string(box)] = from_json(record);
  } catch (const std::exception& problem) {
    records_.clear();
    return Error{"jsonl.record", path_ + " is not as we wrote it (" + problem.what() +
                                     "): what stands in the boxes now may be delivered once more"};
  }
  return Done{};
}

Status BoxRecords::save(bool durable) {
  json::object all;
  for (const auto& [box, record] : records_)
    if (record != BoxRecord{}) all[box] = to_json(record);
  const std::string bytes = json::serialize(all) + "\n";
  const std::size_t slash = path_.rfind('/');
  TRY(const auto folder, ensure_private_dir(files_, path_.substr(0, slash)));
  const std::string name = path_.substr(slash + 1), fresh = name + ".new";
  static_cast<void>(files_.unlink_at(folder, fresh));  // left by a killed predecessor
  TRY(const auto file, files_.create_exclusive(folder, fresh, 0600));
  Status done = files_.write_at(file, bytes, 0);
  if (done.ok()) done = files_.sync(file);  // a power failure must not leave the name with an empty file
  if (done.ok()) done = files_.rename_at(folder, fresh, name);
  if (done.ok() && durable) done = files_.sync_dir(folder);
  return done;
}

}  // namespace inbox_poller::poller
