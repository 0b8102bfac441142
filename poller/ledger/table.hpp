// A table, described once: the text of CREATE TABLE, the statements that write and read a row, and the sum over what the
// row says are all derived from the list of its columns. What it is not: a query builder; the conditions of each query
// are SQL in the file of its aggregate.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "poller/ledger/keys.hpp"
#include "poller/ledger/row_hash.hpp"
#include "poller/ledger/sqlite.hpp"
#include "schema/ids.hpp"
#include "schema/names.hpp"

namespace inbox_poller::poller {

/// How a column belongs to its row.
enum class Part {
  number,    // the row's own, given by SQLite: arrival order, never used twice
  fixed,     // in the sum, written once
  changing,  // in the sum, written again when the row moves on
  loose,     // not in the sum: moved by statements that never read the row
};

/// The values of an enumeration that a column may hold, by their names.
template <class E>
inline constexpr auto values_of = schema::values<E>;

template <class E>
bool parse_one_of(std::string_view word, E& into) {
  const auto found = schema::parse<E>(word);
  if (!found || std::ranges::find(values_of<E>, *found) == values_of<E>.end()) return false;
  into = *found;
  return true;
}

/// A CHECK that a column holds one of these values, in SQL. Not `IN`: for more than two values SQLite would build a table
/// of them at every INSERT, which was a third of its cost.
inline std::string check_one_of(std::string_view name, const std::vector<std::string>& values) {
  std::string tests;
  for (const auto& value : values) tests += (tests.empty() ? "" : " OR ") + std::string(name) + " = " + value;
  return " CHECK (" + tests + ")";
}

// How a value stands in a column: its declaration, its way in and out, and its part in the row's sum.

template <class T>
struct Cell;

template <std::integral T>
struct Cell<T> {
  static std::string declared(std::string_view) { return "INTEGER NOT NULL"; }
  static void bind(Statement& to, int index, T value) { to.bind(index, static_cast<long long>(value)); }
  static bool read(const Statement& from, int column, T& value) {
    long long number = 0;
    from.get(column, number);
    value = static_cast<T>(number);
    return static_cast<long long>(value) == number;
  }
  static void add(RowHash& hash, T value) { hash.add(static_cast<long long>(value)); }
};

template <>
struct Cell<bool> : Cell<int> {
  static std::string declared(std::string_view name) {
    return "INTEGER NOT NULL" + check_one_of(name, {"0", "1"});
  }
  static bool read(const Statement& from, int column, bool& value) {
    from.get(column, value);
    return true;
  }
};

template <>
struct Cell<std::string> {
  static std::string declared(std::string_view) { return "TEXT NOT NULL"; }
  static void bind(Statement& to, int index, std::string_view value) { to.bind_kept(index, value); }  // the row lasts
  static bool read(const Statement& from, int column, std::string& value) {
    from.get(column, value);
    return true;
  }
  static void add(RowHash& hash, std::string_view value) { hash.add(value); }
};

/// Bytes of somebody else, which need not be text.
struct BytesCell : Cell<std::string> {
  static std::string declared(std::string_view) { return "BLOB NOT NULL"; }
  static void bind(Statement& to, int index, std::string_view value) { to.bind_kept(index, Blob{value}); }
};

/// The key of a message, or none.
struct KeyCell {
  static std::string declared(std::string_view) { return "BLOB NOT NULL"; }
  static void bind(Statement& to, int index, std::string_view value) {
    if (const auto bytes = key_bytes(value)) return to.bind(index, Blob{*bytes});
    to.refuse("\"" + std::string(value) + "\" is no key of a message");
  }
  static bool read(const Statement& from, int column, std::string& value) {
    std::string bytes;
    from.get(column, bytes);
    auto text = key_text(bytes);
    if (text) value = std::move(*text);
    return text.has_value();
  }
  static void add(RowHash& hash, std::string_view value) { hash.add(value); }
};

template <>
struct Cell<schema::MessageKey> : KeyCell {
  static void bind(Statement& to, int index, const schema::MessageKey& key) { KeyCell::bind(to, index, key.value); }
  static bool read(const Statement& from, int column, schema::MessageKey& key) {
    return KeyCell::read(from, column, key.value);
  }
  static void add(RowHash& hash, const schema::MessageKey& key) { hash.add(key.value); }
};

template <class E>
  requires std::is_enum_v<E>
struct Cell<E> {
  static std::string declared(std::string_view name) {
    std::vector<std::string> words;
    for (const E value : values_of<E>) words.push_back("'" + std::string(to_string(value)) + "'");
    return "TEXT NOT NULL" + check_one_of(name, words);
  }
  static void bind(Statement& to, int index, E value) { to.bind(index, to_string(value)); }
  static bool read(const Statement& from, int column, E& into) {
    std::string word;
    from.get(column, word);
    return parse_one_of(word, into);
  }
  static void add(RowHash& hash, E value) { hash.add(to_string(value)); }
};

template <class Row>
struct Column {
  std::string name;
  std::string declared;
  Part part;
  void (*bind)(Statement&, int, const Row&);
  bool (*read)(const Statement&, int, Row&);
  void (*add)(RowHash&, const Row&);
};

template <class Row, class Value>
Row row_of(Value Row::*);  // never called

/// The member that a path of pointers leads to: `at<&MessageRow::message, &Message::text>(row)`.
template <auto First, auto... Rest>
auto& at(auto& row) {
  if constexpr (sizeof...(Rest) == 0)
    return row.*First;
  else
    return at<Rest...>(row.*First);
}

template <class C, auto First, auto... Rest>
auto column_as(Part part, std::string_view name) {
  using Row = decltype(row_of(First));
  return Column<Row>{
      std::string(name),
      C::declared(name),
      part,
      [](Statement& to, int index, const Row& row) { C::bind(to, index, at<First, Rest...>(row)); },
      [](const Statement& from, int column, Row& row) { return C::read(from, column, at<First, Rest...>(row)); },
      [](RowHash& hash, const Row& row) { C::add(hash, at<First, Rest...>(row)); },
  };
}

template <auto First, auto... Rest>
auto column(Part part, std::string_view name) {
  using Row = decltype(row_of(First));
  using Value = std::remove_cvref_t<decltype(at<First, Rest...>(std::declval<Row&>()))>;
  return column_as<Cell<Value>, First, Rest...>(part, name);
}

template <auto... Path>
auto number(std::string_view name) {
  auto made = column<Path...>(Part::number, name);
  made.declared = "INTEGER PRIMARY KEY AUTOINCREMENT";
  return made;
}
template <auto... Path>
auto fixed(std::string_view name) {
  return column<Path...>(Part::fixed, name);
}
template <auto... Path>
auto changing(std::string_view name) {
  return column<Path...>(Part::changing, name);
}
template <auto... Path>
auto loose(std::string_view name) {
  return column<Path...>(Part::loose, name);
}

/// A column of text that takes these words only, in quotes.
template <class Row>
Column<Row> one_of(Column<Row> column, const std::vector<std::string>& words) {
  column.declared += check_one_of(column.name, words);
  return column;
}

/// The text of a table and of what belongs to it, for whoever makes or compares one.
struct TableText {
  std::string name;
  std::string sql;
};

template <class Row>
class Table {
 public:
  /// `key`: the columns by which a row is found again, as in UNIQUE (…); `told`: what to call a row in an error.
  Table(std::string_view name, std::vector<Column<Row>> columns, std::string_view key,
        std::vector<std::string_view> indexes, std::string (*told)(const Row&))
      : name_(name), columns_(std::move(columns)), told_(told) {
    std::string marks, updates, lines, moves;
    for (const auto& one : columns_) {
      const auto next = std::to_string(++values_);
      names_ += (names_.empty() ? "" : ", ") + one.name;
      marks += (marks.empty() ? "?" : ", ?") + next;
      lines += "  " + one.name + " " + one.declared + ",\n";
      has_number_ = has_number_ || one.part == Part::number;
      has_sum_ = has_sum_ || one.part == Part::fixed || one.part == Part::changing;
      if (one.part != Part::changing) continue;
      updates += one.name + " = excluded." + one.name + ", ";
      moves += one.name + " = ?" + next + ", ";
    }
    if (has_sum_) {
      const auto next = std::to_string(++values_);
      names_ += ", sum";
      marks += ", ?" + next;
      lines += "  sum INTEGER NOT NULL,\n";
      moves += "sum = ?" + next;
    }
    if (key.empty())
      lines.resize(lines.size() - 2);
    else
      lines += std::string(has_number_ ? "  UNIQUE (" : "  PRIMARY KEY (") + std::string(key) + ")";
    create_ = "CREATE TABLE " + name_ + " (\n" + lines + "\n) STRICT;\n";
    for (const auto& index : indexes) create_ += "CREATE INDEX " + std::string(index) + ";\n";
    insert_ = "INSERT INTO " + name_ + " (" + names_ + ") VALUES (" + marks + ")";
    put_ = insert_ + " ON CONFLICT (" + std::string(key) + ") DO UPDATE SET " + updates + "sum = excluded.sum";
    insert_new_ = insert_ + " ON CONFLICT (" + std::string(key) + ") DO NOTHING";
    move_ = "UPDATE " + name_ + " SET " + moves + " WHERE id = ?1";
    select_ = "SELECT " + names_ + " FROM " + name_ + " ";
  }

  [[nodiscard]] TableText text() const { return {name_, create_}; }
  /// "SELECT … FROM name ", to be followed by a condition.
  [[nodiscard]] const std::string& select() const { return select_; }
  /// The columns, each behind "alias.".
  [[nodiscard]] std::string list(std::string_view alias) const {
    std::string text;
    for (const auto& one : columns_) text += (text.empty() ? "" : ", ") + std::string(alias) + "." + one.name;
    return has_sum_ ? text + ", " + std::string(alias) + ".sum" : text;
  }
  /// How many columns list() has.
  [[nodiscard]] int width() const { return values_; }

  /// The number that SQLite gave it.
  Result<long long> insert(Database& database, const Row& row) const {
    TRY(database.run(filled(database, insert_, row, false)));
    return database.last_id();
  }
  /// Likewise; nothing happens, and Database::changes() says so, when there is a row with the same key.
  Result<long long> insert_new(Database& database, const Row& row) const {
    TRY(database.run(filled(database, insert_new_, row, false)));
    return database.last_id();
  }
  /// Inserts, or writes what changes of the row with the same key.
  Status put(Database& database, const Row& row) const {
    return database.run(filled(database, put_, row, false));
  }
  /// Writes what changes of the row with this number.
  Status move(Database& database, const Row& row) const {
    return database.run(filled(database, move_, row, true));
  }

  [[nodiscard]] long long sum_of(const Row& row) const {
    RowHash hash;
    for (const auto& one : columns_)
      if (one.part == Part::fixed || one.part == Part::changing) one.add(hash, row);
    return hash.value();
  }

  /// The row at hand, its columns from `first` on: as it was written, or "ledger.damaged".
  Status read_into(const Database& database, const Statement& from, Row& row, int first = 0) const {
    bool sound = true;
    int index = first;
    for (const auto& one : columns_) sound = one.read(from, index++, row) && sound;
    long long sum = 0;
    if (has_sum_) from.get(first + values_ - 1, sum);
    if (sound && (!has_sum_ || sum == sum_of(row))) return Done{};
    return database.damaged(told_(row) + " is not as it was written");
  }
  [[nodiscard]] auto reader() const {
    return [this](const Database& database, const Statement& from) -> Result<Row> {
      Row row;
      TRY(read_into(database, from, row));
      return row;
    };
  }
  Result<std::vector<Row>> all(Database& database, Statement statement) const {
    return all_rows<Row>(std::move(statement), reader(), database);
  }
  Result<std::optional<Row>> first(Database& database, Statement statement) const {
    return first_row<Row>(std::move(statement), reader(), database);
  }

 private:
  Statement filled(Database& database, const std::string& sql, const Row& row, bool with_number) const {
    Statement statement = database.query(sql);
    const bool moving = &sql == &move_;
    int index = 0;
    for (const auto& one : columns_) {
      ++index;
      const bool wanted = one.part == Part::number ? with_number : !moving || one.part == Part::changing;
      if (wanted) one.bind(statement, index, row);
    }
    if (has_sum_) statement.bind(++index, sum_of(row));
    return statement;
  }

  std::string name_;
  std::vector<Column<Row>> columns_;
  std::string (*told_)(const Row&);
  std::string names_, create_, insert_, insert_new_, put_, move_, select_;
  int values_ = 0;
  bool has_number_ = false;
  bool has_sum_ = false;
};

}  // namespace inbox_poller::poller
