    R"sql(
CREATE TABLE daemon (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  batch INTEGER NOT NULL                      -- the last tick that accepted anything
) STRICT;
INSERT INTO daemon VALUES (1, 0);

CREATE TABLE messages (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,  -- arrival order
  team         TEXT NOT NULL,
  inbox        TEXT NOT NULL,
  key          TEXT NOT NULL UNIQUE,
  sender       TEXT NOT NULL,
  timestamp    TEXT NOT NULL,                      -- as the sender wrote it
  type         TEXT NOT NULL,
  entry        BLOB NOT NULL,                      -- the bytes as they stood in the inbox
  disposition  TEXT NOT NULL CHECK (disposition IN ('chat', 'control', 'status', 'refused', 'duplicate', 'bad')),
  code         TEXT NOT NULL,
  reason       TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  received_ms  INTEGER NOT NULL,
  batch        INTEGER NOT NULL,
  sum          INTEGER NOT NULL,
  delivery     TEXT NOT NULL CHECK (delivery IN ('none', 'queued', 'offered', 'delivered')),
  sink         TEXT NOT NULL,
  offered_ms   INTEGER NOT NULL,
  delivered_ms INTEGER NOT NULL,
  attempts     INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_delivery ON messages (delivery, team);
CREATE INDEX messages_received ON messages (team, received_ms);
CREATE INDEX messages_quarantine ON messages (team) WHERE disposition IN ('refused', 'bad');
CREATE INDEX messages_request ON messages (request_id, team) WHERE request_id <> '';

CREATE TABLE requests (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('permission', 'sandbox', 'plan')),
  request_id   TEXT NOT NULL,
  asker        TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  subject      TEXT NOT NULL,
  body         BLOB NOT NULL,
  description  TEXT NOT NULL,
  suggestions  BLOB NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('received', 'pending', 'approved', 'denied', 'expired', 'withdrawn',
                                              'answered_elsewhere')),
  asked_ms     INTEGER NOT NULL,
  deadline_ms  INTEGER NOT NULL,
  decided_ms   INTEGER NOT NULL,
  decided_by   TEXT NOT NULL,
  rule         TEXT NOT NULL,
  reason       TEXT NOT NULL,
  message_key  TEXT NOT NULL,
  sum          INTEGER NOT NULL,
  UNIQUE (team, kind, request_id)
) STRICT;
CREATE INDEX requests_id ON requests (request_id, team);
CREATE INDEX requests_open ON requests (team, asker) WHERE state IN ('received', 'pending');
CREATE INDEX requests_plans ON requests (team, asker, content_hash) WHERE kind = 'plan';

CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         TEXT NOT NULL,
  batch        INTEGER NOT NULL,
  inbox        TEXT NOT NULL,
  key          TEXT NOT NULL,
  entry        BLOB NOT NULL,                      -- the final bytes; never updated
  request_id   TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('pending', 'written', 'done', 'dead')),
  attempts     INTEGER NOT NULL,
  created_ms   INTEGER NOT NULL,                   -- owed since
  next_ms      INTEGER NOT NULL,                   -- not before this moment
  last_problem TEXT NOT NULL,
  sum          INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_pending ON outbox (team, inbox) WHERE state = 'pending';
CREATE INDEX outbox_written ON outbox (team) WHERE state = 'written';
CREATE INDEX outbox_request ON outbox (team, request_id);

CREATE TABLE members (
  team         TEXT NOT NULL,
  name         TEXT NOT NULL,
  present      INTEGER NOT NULL CHECK (present IN (0, 1)),
  state        TEXT NOT NULL,
  detail       TEXT NOT NULL,
  last_seen_ms INTEGER NOT NULL,
  sum          INTEGER NOT NULL,
  PRIMARY KEY (team, name)
) STRICT;

CREATE TABLE rules (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  team   TEXT NOT NULL,
  session TEXT NOT NULL,
  kind   TEXT NOT NULL CHECK (kind IN ('permission', 'host')),
  action TEXT NOT NULL CHECK (action IN ('allow', 'deny')),
  rule   TEXT NOT NULL,
  by     TEXT NOT NULL,
  at_ms  INTEGER NOT NULL,
  sum    INTEGER NOT NULL,
  UNIQUE (team, session, kind, action, rule)
) STRICT;

CREATE TABLE lead (
  team     TEXT NOT NULL PRIMARY KEY,
  state    TEXT NOT NULL CHECK (state IN ('idle', 'busy', 'gone')),
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  sum      INTEGER NOT NULL
) STRICT;

CREATE TABLE history (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms       INTEGER NOT NULL,
  team        TEXT NOT NULL,
  message_key TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  event       TEXT NOT NULL,
  detail      TEXT NOT NULL,
  sum         INTEGER NOT NULL
) STRICT;
CREATE INDEX history_message ON history (message_key);
CREATE INDEX history_request ON history (team, request_id);
CREATE INDEX history_time ON history (team, at_ms);
)sql",
    R"sql(
CREATE TABLE shutdowns (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  member       TEXT NOT NULL,
  agent_id     TEXT NOT NULL,
  by           TEXT NOT NULL,
  reason       TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone', 'cleaned',
                                              'rejected', 'timed_out')),
  requested_ms INTEGER NOT NULL,
  nudge_ms     INTEGER NOT NULL,
  nudged_ms    INTEGER NOT NULL,
  force_ms     INTEGER NOT NULL,
  timeout_ms   INTEGER NOT NULL,
  changed_ms   INTEGER NOT NULL,
  term_ms      INTEGER NOT NULL,
  kill_ms      INTEGER NOT NULL,
  backend      TEXT NOT NULL,
  pane_id      TEXT NOT NULL,
  server       TEXT NOT NULL,                      -- pid:started, as all processes here; empty: none
  pane         TEXT NOT NULL,
  processes    TEXT NOT NULL,                      -- pid:started pid:started
  left_alone   TEXT NOT NULL,
  survivors    TEXT NOT NULL,
  answer       TEXT NOT NULL,
  tasks        TEXT NOT NULL,
  detail       TEXT NOT NULL,
  sum          INTEGER NOT NULL,
  UNIQUE (team, request_id)
) STRICT;
CREATE INDEX shutdowns_id ON shutdowns (request_id);
CREATE INDEX shutdowns_open ON shutdowns (team)
  WHERE state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone');
CREATE INDEX shutdowns_team ON shutdowns (team);

CREATE TABLE orders (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  team      TEXT NOT NULL,
  member    TEXT NOT NULL,
  joined_ms INTEGER NOT NULL,
  kind      TEXT NOT NULL CHECK (kind IN ('mode', 'rule')),
  subject   TEXT NOT NULL,
  origin    TEXT NOT NULL,
  by        TEXT NOT NULL,
  key       TEXT NOT NULL,                         -- of the message that carries it
  sent_ms   INTEGER NOT NULL,
  state     TEXT NOT NULL CHECK (state IN ('sent', 'adopted', 'not_adopted', 'superseded')),
  state_ms  INTEGER NOT NULL,
  sum       INTEGER NOT NULL,
  UNIQUE (team, member, joined_ms, kind, origin)
) STRICT;

-- Empty for the rows that are there already; an empty task is not part of a row's sum, so theirs stay right.
ALTER TABLE members ADD COLUMN task TEXT NOT NULL DEFAULT '';

-- rules learns the kind 'team'. SQLite cannot change a CHECK, so the table is built anew: ids and the counter stay.
CREATE TABLE rules_2 (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  team    TEXT NOT NULL,
  session TEXT NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('permission', 'host', 'team')),
  action  TEXT NOT NULL CHECK (action IN ('allow', 'deny')),
  rule    TEXT NOT NULL,
  by      TEXT NOT NULL,
  at_ms   INTEGER NOT NULL,
  sum     INTEGER NOT NULL,
  UNIQUE (team, session, kind, action, rule)
) STRICT;
INSERT INTO rules_2 SELECT id, team, session, kind, action, rule, by, at_ms, sum FROM rules;
DELETE FROM sqlite_sequence WHERE name = 'rules_2';
INSERT INTO sqlite_sequence SELECT 'rules_2', seq FROM sqlite_sequence WHERE name = 'rules';
DROP TABLE rules;
ALTER TABLE rules_2 RENAME TO rules;

CREATE INDEX outbox_key ON outbox (key);           -- is this entry ours?
)sql",
    R"sql(
-- messages learns `expired`, how a delivery is known, and what may overtake; the table is built anew for its CHECKs.
CREATE TABLE messages_3 (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         TEXT NOT NULL,
  inbox        TEXT NOT NULL,
  key          TEXT NOT NULL UNIQUE,
  sender       TEXT NOT NULL,
  timestamp    TEXT NOT NULL,
  type         TEXT NOT NULL,
  entry        BLOB NOT NULL,
  disposition  TEXT NOT NULL CHECK (disposition IN ('chat', 'control', 'status', 'refused', 'duplicate', 'bad')),
  code         TEXT NOT NULL,
  reason       TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  received_ms  INTEGER NOT NULL,
  batch        INTEGER NOT NULL,
  sum          INTEGER NOT NULL,
  delivery     TEXT NOT NULL CHECK (delivery IN ('none', 'queued', 'offered', 'delivered', 'expired')),
  sink         TEXT NOT NULL,
  offered_ms   INTEGER NOT NULL,
  delivered_ms INTEGER NOT NULL,                   -- or expired
  attempts     INTEGER NOT NULL,
  confirmed    TEXT NOT NULL CHECK (confirmed IN ('', 'acknowledged', 'assumed')),
  priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2)  -- 0: material for a digest, 1: chat, 2: urgent
) STRICT;
INSERT INTO messages_3 SELECT id, team, inbox, key, sender, timestamp, type, entry, disposition, code, reason,
  request_id, received_ms, batch, sum, delivery, sink, offered_ms, delivered_ms, attempts,
  CASE delivery WHEN 'delivered' THEN 'acknowledged' ELSE '' END, 1 FROM messages;
DELETE FROM sqlite_sequence WHERE name = 'messages_3';
INSERT INTO sqlite_sequence SELECT 'messages_3', seq FROM sqlite_sequence WHERE name = 'messages';
DROP TABLE messages;
ALTER TABLE messages_3 RENAME TO messages;
CREATE INDEX messages_delivery ON messages (delivery, team, priority);
CREATE INDEX messages_assumed ON messages (team, confirmed) WHERE confirmed = 'assumed';
CREATE INDEX messages_received ON messages (team, received_ms);
CREATE INDEX messages_quarantine ON messages (team) WHERE disposition IN ('refused', 'bad');
CREATE INDEX messages_request ON messages (request_id, team) WHERE request_id <> '';

-- requests learns the kind 'stop'.
CREATE TABLE requests_3 (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('permission', 'sandbox', 'plan', 'stop')),
  request_id   TEXT NOT NULL,
  asker        TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  subject      TEXT NOT NULL,
  body         BLOB NOT NULL,
  description  TEXT NOT NULL,
  suggestions  BLOB NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('received', 'pending', 'approved', 'denied', 'expired', 'withdrawn',
                                              'answered_elsewhere')),
  asked_ms     INTEGER NOT NULL,
  deadline_ms  INTEGER NOT NULL,
  decided_ms   INTEGER NOT NULL,
  decided_by   TEXT NOT NULL,
  rule         TEXT NOT NULL,
  reason       TEXT NOT NULL,
  message_key  TEXT NOT NULL,
  sum          INTEGER NOT NULL,
  UNIQUE (team, kind, request_id)
) STRICT;
INSERT INTO requests_3 SELECT * FROM requests;
DELETE FROM sqlite_sequence WHERE name = 'requests_3';
INSERT INTO sqlite_sequence SELECT 'requests_3', seq FROM sqlite_sequence WHERE name = 'requests';
DROP TABLE requests;
ALTER TABLE requests_3 RENAME TO requests;
CREATE INDEX requests_id ON requests (request_id, team);
CREATE INDEX requests_open ON requests (team, asker) WHERE state IN ('received', 'pending');
CREATE INDEX requests_plans ON requests (team, asker, content_hash) WHERE kind = 'plan';
CREATE INDEX requests_decided ON requests (decided_ms) WHERE decided_ms > 0;

-- Empty values are not part of a row's sum, so the sums of the rows that are there stay right.
ALTER TABLE lead ADD COLUMN by TEXT NOT NULL DEFAULT '';       -- what told the state: the event's name
ALTER TABLE lead ADD COLUMN session TEXT NOT NULL DEFAULT '';  -- the lead's session, as its hooks or its stream name it
ALTER TABLE lead ADD COLUMN pane TEXT NOT NULL DEFAULT '';     -- the tmux pane it lives in: id server:start first:start
)sql",
    R"sql(
-- The last good roster of each team. Old clients may leave the file empty as they end.
CREATE TABLE rosters (
  team    TEXT NOT NULL PRIMARY KEY,
  bytes   BLOB NOT NULL,
  file    INTEGER NOT NULL,                        -- the inode: only the same file is ever mended from this
  seen_ms INTEGER NOT NULL,
  sum     INTEGER NOT NULL
) STRICT;
)sql",
