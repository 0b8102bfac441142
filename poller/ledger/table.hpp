// A table, described once by the list of its columns. CREATE TABLE, the statements that write and read a row, and the
// row's sum follow from that list. This is not a query builder: the conditions of queries are SQL in each table's file.
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

/// Role of a column in its row.
enum class Part {
  number,    // assigned by SQLite in the order of arrival, never used twice; not in the sum
  fixed,     // in the sum, written once
  changing,  // in the sum, written again by each update
  loose,     // not in the sum, because statements change it without reading the row
};

/// Values of an enumeration that a column may have.
template <class E>
inline constexpr auto values_of = schema::values<E>;

template <class E>
bool parse_one_of(std::string_view word, E& into) {
  const auto found = schema::parse<E>(word);
  if (!found || std::ranges::find(values_of<E>, *found) == values_of<E>.end()) return false;
  into = *found;
  return true;
}

/// Builds a CHECK that a column has one of these SQL values. Not `IN`: for more than two values SQLite would build a
/// table of them at every INSERT, which was a third of its cost.
inline std::string check_one_of(std::string_view name, const std::vector<std::string>& values) {
  std::string tests;
  for (const auto& value : values) tests += (tests.empty() ? "" : " OR ") + std::string(name) + " = " + value;
  return " CHECK (" + tests + ")";
}

// The mapping of a value to a column: declaration, binding, reading, and share in the row's sum.

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

/// Bytes from another program, which need not be text.
struct BytesCell : Cell<std::string> {
  static std::string declared(std::string_view) { return "BLOB NOT NULL"; }
  static void bind(Statement& to, int index, std::string_view value) { to.bind_kept(index, Blob{value}); }
};

/// Key of a message, or empty.
struct KeyCell {
  static std::string declared(std::string_view) { return "BLOB NOT NULL"; }
  static void bind(Statement& to, int index, std::string_view value) {
    if (const auto bytes = key_bytes(value)) return to.bind(index, Blob{*bytes});
    to.refuse("\"" + std::string(value) + "\" is not the key of a message");
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

/// Returns the member at a path of pointers: `at<&MessageRow::message, &Message::text>(row)`.
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

/// Restricts a text column to these words, given in SQL quotes.
template <class Row>
Column<Row> one_of(Column<Row> column, const std::vector<std::string>& words) {
  column.declared += check_one_of(column.name, words);
  return column;
}

/// SQL text of a table with its indexes, or of a view.
struct TableText {
  std::string name;
  std::string sql;
};

/// Description of a table whose rows are `Row`; immutable.
template <class Row>
class Table {
 public:
  /// Builds all statements. `key`: the columns that identify a row, as in UNIQUE (…). `told` names a row in an error.
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
      names_ += ", checksum";
      marks += ", ?" + next;
      lines += "  checksum INTEGER NOT NULL,\n";
      moves += "checksum = ?" + next;
    }
    if (key.empty())
      lines.resize(lines.size() - 2);
    else
      lines += std::string(has_number_ ? "  UNIQUE (" : "  PRIMARY KEY (") + std::string(key) + ")";
    create_ = "CREATE TABLE " + name_ + " (\n" + lines + "\n) STRICT;\n";
    for (const auto& index : indexes) create_ += "CREATE INDEX " + std::string(index) + ";\n";
    insert_ = "INSERT INTO " + name_ + " (" + names_ + ") VALUES (" + marks + ")";
    put_ = insert_ + " ON CONFLICT (" + std::string(key) + ") DO UPDATE SET " + updates + "checksum = excluded.checksum";
    insert_new_ = insert_ + " ON CONFLICT (" + std::string(key) + ") DO NOTHING";
    move_ = "UPDATE " + name_ + " SET " + moves + " WHERE id = ?1";
    select_ = "SELECT " + names_ + " FROM " + name_ + " ";
  }

  [[nodiscard]] TableText text() const { return {name_, create_}; }
  /// Returns "SELECT … FROM name ", to which the caller adds a condition.
  [[nodiscard]] const std::string& select() const { return select_; }
  /// Lists the columns, each after "alias.".
  [[nodiscard]] std::string list(std::string_view alias) const {
    std::string text;
    for (const auto& one : columns_) text += (text.empty() ? "" : ", ") + std::string(alias) + "." + one.name;
    return has_sum_ ? text + ", " + std::string(alias) + ".checksum" : text;
  }
  /// Returns the number of columns in list().
  [[nodiscard]] int width() const { return values_; }

  /// Inserts a row and returns the number that SQLite assigned.
  Result<long long> insert(Database& database, const Row& row) const {
    TRY(database.run(filled(database, insert_, row, false)));
    return database.last_id();
  }
  /// Inserts a row as insert(), unless there is one with the same key; then Database::changes() is 0.
  Result<long long> insert_new(Database& database, const Row& row) const {
    TRY(database.run(filled(database, insert_new_, row, false)));
    return database.last_id();
  }
  /// Inserts a row, or updates the changing columns of the row with the same key.
  Status put(Database& database, const Row& row) const {
    return database.run(filled(database, put_, row, false));
  }
  /// Updates the changing columns of the row with this number.
  Status move(Database& database, const Row& row) const {
    return database.run(filled(database, move_, row, true));
  }

  [[nodiscard]] long long sum_of(const Row& row) const {
    RowHash hash;
    for (const auto& one : columns_)
      if (one.part == Part::fixed || one.part == Part::changing) one.add(hash, row);
    return hash.value();
  }

  /// Reads the row, its columns from `first` on. Error "ledger.damaged": the row is not as it was written.
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
