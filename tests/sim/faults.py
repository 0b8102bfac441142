#!/usr/bin/env python3
"""Plants faults into the product, one at a time, and counts the simulated histories until each is found.

  faults.py               all of them; prints a table. Needs the build of the preset `sim`, which stays as it is
  faults.py --only NAME…  these
  faults.py --most K      gives a fault up after K histories (default 60)
  faults.py --jobs N      this many at a time (default 1)
  faults.py --check       only that every text occurs exactly once: nothing is built

Only the file with the fault is compiled again. The linker then takes the first of two definitions, which is the one with
the fault. Most faults are mutations of tests/mutation; the others stand here in the same form, with no test of their own.
Leaves with 1 if a fault does not fit the source, does not compile, or is not found."""

# clock: whole file: nothing here measures time

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "sim"
EPISODES = ["--episodes", "3"]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
from mutations import MUTATIONS, Mutation  # noqa: E402

SHARED = ["commit-before-mark", "memory-first", "append-once", "second-answer", "deny-first", "strangers", "one-sender", "repeat-label",
          "lock-before-rename", "file-before-rename", "control-first", "holder-of-another", "identity-marking", "direction-check",
          "direction-table", "same-id", "same-bytes", "timeout-denies", "suggestions", "fresh-lock", "foreign-release", "last-look",
          "compact-unread", "torn-file", "line-of-nothing", "shared-inbox"]

OWN = [
    Mutation("recall-not-synced", "what is taken back stays away after a power failure", "poller/mailbox/arrays/arrays_mailbox.cpp",
             "  return told(make_lasting(files_, inboxes_.open_team(), inbox));\n", "  return {};\n", None),
    Mutation("answered-goes-on", "a request that was answered does not go to the next leader", "poller/ledger/node_mail.cpp",
             "requests.state IN ('approved', 'denied', 'expired')", "requests.state IN ('none')", None),
    Mutation("cleared-is-lost", "what an emptied inbox had was read", "poller/mailbox/arrays/arrays_mailbox.cpp",
             "if (!batch.empty() && batch.front().receipt.was_cleared) tell_fates(inbox, nullptr);", "", None),
    Mutation("given-up-stays", "a request that was given up is not there for the next worker of that name", "poller/team/shutdowns.cpp",
             "  withdraw_given_up();\n", "", None),
    Mutation("over-and-again", "the request of a shutdown that is over is not written again", "poller/effects/outbox.cpp",
             "over && *over ? Ending::abandoned", "over && *over ? Ending::overwritten", None),
    Mutation("due-is-overtaken", "what could not be requeued goes before newer chat", "poller/delivery/delivery.cpp",
             "return owed.contains(row.sender); });", "return owed.contains(row.sender) && row.id < 0; });", None),
    Mutation("delivered-when-offered", "chat is delivered only when the lead has acknowledged it", "poller/ledger/deliveries.cpp",
             "UPDATE deliveries SET state = 'offered', method = ?3", "UPDATE deliveries SET state = 'delivered', method = ?3", None),
    Mutation("attempts-not-counted", "a repeat has a label", "poller/ledger/deliveries.cpp",
             "offered_ms = ?4, attempts = attempts + 1 ", "offered_ms = ?4, attempts = 0 ", None),
    Mutation("kept-at-hang-up", "leases return when their holder goes away", "poller/control/verbs_lead.cpp",
             "{ team->delivery().requeue(team->delivery().leases().leave(holder)); }", "{ static_cast<void>(team), static_cast<void>(holder); }", None),
    Mutation("written-although-not", "a reply is written when it stands in the box", "poller/effects/outbox.cpp",
             "      if (arrived(result.put)) {\n", "      if (arrived(result.put) || row.id > 0) {\n", None),
    Mutation("never-written-again", "a reply that a peer destroyed is written again", "poller/effects/outbox.cpp",
             "? Ending::abandoned : Ending::overwritten", "? Ending::abandoned : Ending::consumed", None),
    Mutation("ledger-not-synced", "a commit survives a power failure", "poller/ledger/open.cpp",
             "PRAGMA synchronous = FULL;", "PRAGMA synchronous = OFF;", None),
    Mutation("file-not-synced", "a new file is on the disk before its name", "poller/filesystem.cpp",
             "  if (status.ok()) status = files.sync(file);\n", "", None),
    Mutation("stamp-of-the-file-only", "an emptied box is written to even if the clock was set back", "poller/mailbox/arrays/array_appends.cpp",
             "snapshot.settled || (is_odd && stays", "snapshot.settled || (false && stays",
             None),
    Mutation("newest-first", "chat goes in the order of its writing", "poller/ledger/deliveries.cpp",
             "ORDER BY d.message LIMIT ?3", "ORDER BY d.message DESC LIMIT ?3", None),
    Mutation("leases-after-a-crash", "what was leased when the daemon died is offered again", "poller/context/message_life.cpp",
             "    return ledger.deliveries().requeue_all_offered();\n", "    return Done{};\n", None),
    Mutation("accepted-uncommitted", "an answer is accepted once it is committed", "poller/team/requests.cpp",
             "const auto& status = unit++->status; !status)", "const auto& status = unit++->status; !status && wanted.empty())", None),
    Mutation("refusal-is-consent", "a worker that refuses to end is not ended", "handlers/shutdown.cpp",
             "answer.reason, ShutdownEvent::worker_rejects, incoming", "answer.reason, ShutdownEvent::worker_approves, incoming", None),
    Mutation("words-of-the-one-before", "a worker does not read the request to end the one before", "poller/team/shutdowns.cpp",
             "    if (ended) TRY(drop_words(shutdown));\n", "", None),
    Mutation("answer-to-a-verifier", "a worker that verifies its lead is not answered", "handlers/answers_count.cpp",
             "      return {Answers::verified,", "      return {Answers::count,", None),
    Mutation("verifier-unlisted", "the same while the roster cannot be read", "poller/context/team_state.cpp",
             "  if (listed == nullptr) return workers->look(member + \"@\" + name, clock.system_ms());\n", "  if (listed == nullptr) return {};\n", None),
    Mutation("roster-read-once", "who joined before writing is known", "poller/team/lead_boxes.cpp",
             "    if (look_at_roster_ && context_.config.team.facts().asks && !batch.taken.empty()) look_at_roster_();\n", "", None),
    Mutation("busy-is-final", "a reply waits for a held lock", "poller/effects/outbox.cpp",
             "row.attempts + 1 >= most_attempts;", "row.attempts + 1 >= 1 && most_attempts > 0;", None),
    Mutation("replies-forgotten", "a restart follows the replies that were written", "poller/effects/outbox.cpp",
             "  for (auto& row : rows) {\n    mailbox_.track(row.inbox, row.key);", "  for (auto& row : rows) {\n    if (row.id > 0) continue;\n    mailbox_.track(row.inbox, row.key);", None),
    Mutation("given-back-in-memory", "what is given back is queued in the ledger, too", "poller/delivery/requeueing.cpp",
             "    tx.keep(requeue_rows(ids_of(back)));\n", "", None),
    Mutation("commit-always-succeeds", "who waits for a commit learns that it failed", "poller/context/group_commit.cpp",
             "    jobs[i]->unit.status = units[i].status;\n", "", None),
    Mutation("folder-not-synced", "a reply is recorded as written once its name is on the disk", "poller/mailbox/arrays/array_appends.cpp",
             "const Status synced = files_.sync_dir(*folder); !synced.ok()", "const Status synced = Done{}; !synced.ok()", None),
    Mutation("lock-stays", "a lock is released", "poller/mailbox/arrays/lock_directory.cpp",
             "    Status removed = files_.rmdir_at(at, lock.name_);\n", "    Status removed = Done{};\n", None),
    Mutation("decided-by-a-rule", "decisions tell who decided", "handlers/decide.cpp",
             "? \"deadline\" : answer.by;", "? \"deadline\" : \"rule\";", None),
    Mutation("replies-owed-hidden", "status tells what is owed", "poller/control/views.cpp",
             "  view.replies_owed = owed;", "  view.replies_owed = owed + 1;", None),
    Mutation("duplicates-pass", "an entry that stands twice is one message", "poller/team/receiver.cpp",
             "if (schema::occurrence_of(taken.key) > 0 && !row.message.timestamp.empty()) {", "if (schema::occurrence_of(taken.key) > 1000) {", None),
    Mutation("known-is-new", "an entry that is unread again is not delivered again", "poller/mailbox/arrays/arrays_reading.cpp",
             "  return (entry.known && !box.scan->is_rewound) || box.settled.contains(entry.key);",
             "  return entry.known && !box.scan->is_rewound && box.settled.contains(entry.key);", None),
]

# Between machines: only histories of the profile `hosts` have them.
NODES = [
    Mutation("epoch-not-told", "the engine takes what a leader writes under the leader's epoch only", "poller/cluster/replicator.cpp",
             "rows.front().lead ? state_.lease.epoch : 0;", "rows.front().lead && rows.empty() ? state_.lease.epoch : 0;", None),
    Mutation("lease-too-long", "a leader decides nothing at the end of its lease", "handlers/lease.cpp",
             "return lease.held && now < lease.until - decide_until_before;", "return lease.held && now < lease.until + Moment{600'000};", None),
    Mutation("put-is-there", "what was put counts once its receiver has confirmed it", "poller/cluster/replicator.cpp",
             "ids_of(rows, done), NodeMailState::put,", "ids_of(rows, done), NodeMailState::read,", None),
    Mutation("put-without-the-ledger", "what leaves the lead's inbox is in the ledger", "poller/cluster/local_delivery.cpp",
             "  TRY(const auto added, tx.ledger.node_mail().add(row));\n  if (!added) return Done{};  // accepted before a crash",
             "  const bool added = row.inbox == context.lead;\n  if (added) return Done{};", None),
    Mutation("second-after-failover", "a worker's node refuses a second answer", "poller/cluster/replicator.cpp",
             "  if (!before && !here) return Refusal();", "  if (!before || !here) return Refusal();", None),
    Mutation("asked-of-nobody", "a new leader learns what was answered before it", "poller/cluster/cluster_member.cpp",
             "      if (answer.node.empty()) {\n", "      if (i < open.size()) {\n", None),
    Mutation("asked-of-the-engine-only", "a new leader knows what its own workers were answered", "poller/cluster/cluster_member.cpp",
             "(*here)->type == request.first;", "(*here)->type.empty();", None),
    Mutation("late-marks-dropped", "a node records late what it has accepted for the lead", "poller/cluster/node_state.cpp",
             "    if (!receipts.there.empty())\n", "    if (receipts.there.size() > 1000)\n", None),
    Mutation("numbers-ignored", "a letter waits for the one before it", "poller/cluster/replicator.cpp",
             "  if (frame.after > last->second) return Done{};", "  if (frame.after > last->second + 1'000'000) return Done{};", None),
    Mutation("leader-change-ignored", "every node sends again to a new leader", "poller/cluster/replicator.cpp",
             "    return table.put_all_again(state_.context.name, true, state_.context.clock.wall_ms());",
             "    return Status(Done{});", None),
    Mutation("chat-not-handed-over", "a leader that was followed hands its queued chat over", "poller/team/leadership_transfer.cpp",
             "    TRY(cluster_.hand_over(row, 0, tx));", "    if (row.id < 0) TRY(cluster_.hand_over(row, 0, tx));", None),
    Mutation("speakers-unchecked", "a node speaks for its own workers", "poller/cluster/replicator.cpp",
             "    return Refusal(std::move(why));\n  if (!row.lead && context.roster", "    return Refusal();\n  if (!row.lead && context.roster", None),
    Mutation("marked-under-way", "a lead's entry that is under way to the lead is not accepted a second time", "poller/team/earlier_leaders.cpp",
             "  return sent.has_value();\n", "  return sent.has_value() && sent->id < 0;\n", None),
    Mutation("role-behind-the-lease", "a lease that ends before the role leaves the lead's inbox alone", "poller/team/leadership_transfer.cpp",
             "return role == handlers::EffectiveRole::leader;", "return role == handlers::EffectiveRole::observer;", None),
    Mutation("handed-over-in-pieces", "queued chat is handed over after what its sender has at the lead", "poller/team/leadership_transfer.cpp",
             "waiting.contains(row.sender); });", "waiting.contains(row.sender) && row.id < 0; });", None),
    Mutation("again-without-the-first", "a letter that comes again waits for the one before it", "poller/cluster/replicator.cpp",
             "  if (row.lead) {  //", "  if (row.lead && frame.number > last->second) {  //", None),
    Mutation("again-without-an-older", "a letter that comes again waits for each older one that was handed over", "poller/ledger/node_mail.cpp",
             "number <= ?3 AND direction", "number = ?3 AND direction", None),
    Mutation("settled-and-awaited", "chat that another leader has settled holds nothing back", "poller/ledger/node_mail.cpp",
             "number < ?4 AND direction", "number < ?4 AND number < 0 AND direction", None),
    Mutation("over-and-forgotten", "a node without the worker records that its shutdown is over", "poller/team/remote_termination.cpp",
             "    if (record_over(order, told.detail)) told.state", "    told.state", None),
    Mutation("asked-by-the-next", "the next worker of a name keeps what it asked", "poller/team/requests.cpp",
             "next_joined_ms == 0 || request", "next_joined_ms != 1 || request", None),
    Mutation("asked-without-its-join-time", "a late request to end does not reach the next worker", "poller/cluster/replicator.cpp",
             "  row.joined_ms = frame.joined_ms;\n", "", None),
    Mutation("reminder-stays", "a node takes a reminder back with the request to end", "poller/cluster/replicator.cpp",
             "if (row.request_id.empty() && !row.lead)", "if (row.request_id.empty() && row.number < 0)", None),
    Mutation("receipt-to-itself", "a machine needs no engine for its own receipts", "poller/cluster/replicator_receipts.cpp",
             "    if (node == state_.settings.node) {", "    if (node.empty()) {", None),
    Mutation("over-and-filed", "the request of a shutdown that is over is not filed", "poller/cluster/local_delivery.cpp",
             "row.request_id); over && *over) {", "row.request_id); over && *over && row.id < 0) {", None),
    Mutation("answered-unknown", "a repeated request gets the answer of an earlier leader", "poller/team/earlier_leaders.cpp",
             "  if (!answer) return none;", "  if (!answer || answer->id > 0) return none;", None),
]

# With JSON lines. The names are those of tests/mutation.
SHARED_LINES = ["emptied-under-lease", "the-same-lines-again", "generation-in-key", "read-before-emptied", "own-looks-are-no-proof"]
LINES = [
    Mutation("mark-not-synced", "what a mark says of a file is on the disk", "poller/mailbox/jsonl/line_box.cpp",
             "const auto synced = team_.files.sync(*file); !synced)", "const auto synced = Status(Done{}); !synced)", None),
    Mutation("cursor-before-commit", "a line is passed by only when its commit worked", "poller/mailbox/jsonl/line_box.cpp",
             "    if (disposals[i] == Ack::requeue) {\n", "    if (false && disposals[i] == Ack::requeue) {\n", None),
    Mutation("emptied-with-new-lines", "a file is emptied only while it is as it was marked", "poller/mailbox/jsonl/line_box.cpp",
             "now->size == mark.size && now->ctime_ns == mark.ctime_ns;", "now->size >= mark.size;", None),
    Mutation("last-line-not-ended", "a torn last line stays apart from the next", "poller/mailbox/jsonl/line_box.cpp",
             "  if (reader == Access::exclusive) end_last_line(folder, in_place(), batch);\n", "", None),
    Mutation("torn-line-skipped", "a line that does not parse is set aside with its bytes", "poller/mailbox/jsonl/line_box.cpp",
             "    if (is_blank_line(line)) continue;\n", "    if (is_blank_line(line) || line.front() != '{' || line.back() != '}') continue;\n", None),
    Mutation("destroyed-is-read", "a line that its reader removed unread is written again", "poller/mailbox/jsonl/line_post.cpp",
             "      case Proof::destroyed: one.read_status = ReadStatus::lost; break;", "      case Proof::destroyed: one.read_status = ReadStatus::consumed; break;",
             None),
    Mutation("posted-without-lease", "a line is written while nobody has the file open", "poller/mailbox/jsonl/line_post.cpp",
             "    if (!hold.held() && !hold.impossible()) return hold.result();\n", "    if (hold.file().fd.get() < 0) return hold.result();\n", None),
    Mutation("words-stay", "a successor does not read the request to the one before", "poller/mailbox/jsonl/line_post.cpp",
             "      const auto written = files_.write_at(hold.file(), silenced_jsonl(line), hold.begins() + at);\n",
             "      const auto written = files_.write_at(hold.file(), line, hold.begins() + at);\n", None),
    Mutation("forgotten-after-a-restart", "a restart follows the lines that were written", "poller/mailbox/jsonl/line_post.cpp",
             "  posted_[file].lines.try_emplace(key, Posted{{}, 0, ReadStatus::waiting, false});\n",
             "  posted_[file].lines.try_emplace(key, Posted{{}, 0, ReadStatus::consumed, false});\n", None),
]

# In a folder that agents share.
SHARED_LETTERS = ["order-of-letters", "another-under-its-id", "sweep-in-two-steps", "done-is-not-claimed"]
LETTERS = [
    Mutation("taken-before-commit", "a letter is taken only when its commit worked", "poller/mailbox/maildir/maildir_mailbox.cpp",
             "    if (disposals[i] == Ack::requeue) {\n", "    if (disposals[i] == Ack::requeue && !shown.open) {\n", None),
    Mutation("torn-letter-taken", "an unreadable letter stays in its place", "poller/mailbox/maildir/new_mail.cpp",
             "    if (is_errno(file.error(), ENOENT)) return;\n",
             "    if (is_errno(file.error(), ENOENT)) return;\n    static_cast<void>(root_.files().unlink_at(folder, name));\n", None),
    Mutation("vanished-is-read", "a letter that vanished is written again once", "poller/mailbox/maildir/maildir_mailbox.cpp",
             "was_read || out.deletes ? ReadStatus::consumed : ReadStatus::lost;", "true || was_read ? ReadStatus::consumed : ReadStatus::lost;", None),
    Mutation("letter-not-synced", "the name of a letter is on the disk when it counts as written", "poller/mailbox/maildir/maildir_root.cpp",
             "  return files_.sync_dir(at);\n", "  return Done{};\n", None),
    Mutation("swept-while-held", "a task whose lease was renewed is not given back", "poller/mailbox/maildir/task_sweep.cpp",
             "  if (!is_over(where, *file)) return Done{};\n", "  if (file->envelope.text(\"owner\").empty()) return Done{};\n", None),
    Mutation("claim-dropped", "a claim without a place is given back, not dropped", "poller/mailbox/maildir/task_sweep.cpp",
             "  TRY(auto left, release_claim(swept, name, std::move(task)));\n  gone.push_back(std::move(left));\n",
             "  static_cast<void>(gone);\n  return root_.files().unlink_at(swept, name);\n", None),
    Mutation("resent-is-new", "a letter that is sent again is one message", "poller/mailbox/letter.cpp",
             "  return schema::make_message_key(scope, from, id, letter.text(\"type\") + '\\n' + says, 0);\n",
             "  static int resent = 0;\n  return schema::make_message_key(scope, from, id, letter.text(\"type\") + '\\n' + says, static_cast<std::size_t>(++resent));\n",
             None),
]

# With a lead that has our hooks.
SHARED_HOOKS = ["hook-ran", "hook-answered", "hook-synthetic"]
HOOKS = [
    Mutation("printed-is-delivered", "what a hook printed is delivered once the session shows that its model has it", "poller/delivery/requeueing.cpp",
             "  if (leased) hooks_.add(std::move(offer));\n",
             "  if (leased && !acknowledge(keys_of(offer.messages), Confirmation::acknowledged, \"\")) hooks_.add(std::move(offer));\n", None),
    Mutation("delivered-unnamed", "the name of a new file is on the disk when its chat counts as delivered", "poller/delivery/sinks.cpp",
             "  if (synced.ok() && folder) synced = files.sync_dir(*folder);\n", "", None),
    Mutation("unprinted-is-printed", "what a hook had no time to print is queued", "poller/control/verbs_hooks.cpp",
             "  if (request.printed) {\n", "  if (request.printed || !out->messages.empty()) {\n", None),
    Mutation("resumed-proves", "a resumed session lacks the last output of its hooks", "handlers/hook_proof.cpp",
             'if (event.name == "SessionStart") return event.source == "compact" ? std::nullopt : std::optional(HookSign::end);',
             'if (event.name == "SessionStart") return std::nullopt;', None),
    Mutation("failure-proves", "a turn that failed is no proof", "handlers/hook_proof.cpp",
             "    if (sign == HookSign::tool || sign == HookSign::stop || sign == HookSign::held) return Proof::proven;\n",
             "    return Proof::proven;\n", None),
    Mutation("late-answer-proves", "only an answer behind the text proves it", "poller/delivery/hook_offers.cpp",
             "      open.prompted = true;\n", "      open.given = true;\n", None),
    Mutation("others-prompt-proves", "a waiting hook's text is proven by the transcript only", "handlers/hook_proof.cpp",
             "    case OfferingHook::wait: return false;\n", "    case OfferingHook::wait: return true;\n", None),
]

# With workers in panes.
PANES = [
    Mutation("timeout-forces", "a worker that does not answer is not ended by force unless a person said so", "handlers/shutdown.cpp",
             "    if (is_due(shutdown.force_ms)) return advance(ShutdownEvent::force_is_due);\n",
             "    if (is_due(shutdown.force_ms) || is_due(shutdown.timeout_ms)) return advance(ShutdownEvent::force_is_due);\n", None),
    Mutation("never-killed", "a process that ignores TERM is killed", "handlers/shutdown.cpp",
             "past(shutdown.term_ms, settings.grace) ? ShutdownStep::kill : ShutdownStep::wait, {}};",
             "past(shutdown.term_ms, settings.timeout * 1000) ? ShutdownStep::kill : ShutdownStep::wait, {}};", None),
]

# With a lead in a pane, where a person types, too.
TERMINALS = [
    Mutation("pasted-over-a-draft", "nothing is pasted into a composer that holds text", "poller/delivery/tmux_sink.cpp",
             "  if (auto why = why_not(seen->reading); !why.empty())\n",
             "  if (auto why = why_not(seen->reading); !why.empty() && seen->reading.kind != schema::ScreenKind::draft)\n", None),
    Mutation("pasted-into-a-turn", "nothing is pasted into a lead that works", "poller/delivery/tmux_sink.cpp",
             "  if (auto why = why_not(seen->reading); !why.empty())\n",
             "  if (auto why = why_not(seen->reading); !why.empty() && seen->reading.kind != schema::ScreenKind::running)\n", None),
    Mutation("enter-unseen", "Enter is pressed where our text stands alone", "poller/delivery/tmux_sink.cpp",
             "seen.reading.at_end && schema::holds_exactly(seen.reading, text))", "(seen.reading.at_end || !text.empty()))", None),
]

# With workers that ask to stop.
WISHES = [
    Mutation("declined-in-silence", "a worker reads why it may not stop", "handlers/decide.cpp",
             "  if (!is_granted_stop) posts", "  if (decided.kind != RequestKind::stop) posts", None),
    Mutation("granted-by-the-rule", "a person decides whether a worker stops", "handlers/stop.cpp",
             "return {config::Action::ask,", "return {config::Action::allow,", None),
]


def ways_of(fault):
    """The words of `simulate` for the histories in which this fault can be found."""
    if fault in NODES:
        return ["--profile", "hosts", "--without", "panes,ways"]
    if fault in HOOKS + PANES + TERMINALS + WISHES or fault.name in SHARED_HOOKS:
        return ["--mailbox", "arrays"]
    is_of = lambda own, names: fault in own or fault.name in names
    system = "jsonl" if is_of(LINES, SHARED_LINES) else "maildir" if is_of(LETTERS, SHARED_LETTERS) else "arrays"
    return ["--mailbox", system, "--without", "panes,ways"]


def chosen(names):
    shared = [one for one in MUTATIONS if one.name in SHARED + SHARED_LINES + SHARED_LETTERS + SHARED_HOOKS]
    return [one for one in shared + OWN + NODES + LINES + LETTERS + HOOKS + PANES + TERMINALS + WISHES if not names or one.name in names]


def unfit(faults):
    problems = [f"{one.name}: its text does not occur exactly once in {one.file}" for one in faults
                if (ROOT / one.file).read_text("utf-8").count(one.before) != 1]
    missing = set(SHARED + SHARED_LINES + SHARED_LETTERS + SHARED_HOOKS) - {one.name for one in MUTATIONS}
    return problems + [f"{name}: tests/mutation has no such mutation" for name in sorted(missing)]


def compile_command(file, source, output):
    """How the build compiles this file's unit, for another source of the file. Sources of a room share their flags. A file
    of the ledger is compiled with its whole unit, because its tables are not the same object in two units."""
    room = file.split("/")[0]
    commands = json.loads((BUILD / "compile_commands.json").read_text("utf-8"))
    its = [one for one in commands if f"{room}.dir/" in one["command"] and "/cli/" not in one["command"] and "Unity" in one["command"]]
    if file.startswith("poller/ledger/"):
        unit = next(one for one in its if str(ROOT / file) in pathlib.Path(one["file"]).read_text("utf-8"))
        whole = source.with_name("unit.cpp")
        whole.write_text(pathlib.Path(unit["file"]).read_text("utf-8").replace(str(ROOT / file), str(source)), "utf-8")
        its, source = [unit], whole
    words = shlex.split(its[0]["command"])
    words[words.index("-o") + 1] = str(output)
    words[words.index("-c") + 1] = str(source)
    return words, its[0]["directory"]


def link_command(first, output):
    listed = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "simulate"], stdout=subprocess.PIPE, text=True, check=True).stdout
    line = listed.strip().splitlines()[-1]
    words = shlex.split(line[line.index("&& ") + 3:line.rindex(" &&")])
    words[words.index("-o") + 1] = str(output)
    at = next(i for i, word in enumerate(words) if word.endswith(".o"))
    return [*words[:at], str(first), *words[at:], "-Wl,--allow-multiple-definition"]


def run(words, folder):
    return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)


def play(program, most, more):
    """How the first `most` histories end: (count until a violation or None, its text)."""
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    words = [str(program), "--seed", "1", "--histories", str(most), *EPISODES, *more]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, **memory}, check=False)
    if done.returncode == 0:
        return None, ""
    found = re.search(r"after (\d+) histories", done.stdout)
    first = re.search(r"violated: (.*)", done.stdout)
    return (int(found.group(1)) if found else 0), (first.group(1) if first else "the program ended: " + done.stdout[-200:])


def try_one(fault, most):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / pathlib.Path(fault.file).name
        output, program = source.with_suffix(".o"), pathlib.Path(folder) / "simulate"
        source.write_text((ROOT / fault.file).read_text("utf-8").replace(fault.before, fault.after), "utf-8")
        built = run(*compile_command(fault.file, source, output))
        if built.returncode == 0:
            built = run(link_command(output, program), BUILD)
        if built.returncode != 0:
            return "does not compile", built.stdout[-1500:]
        count, what = play(program, most, ways_of(fault))
    return ("not found" if count is None else str(count)), what


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    faults = chosen(given.only)
    problems = unfit(faults)
    if problems or given.check:
        print("\n".join(problems) or f"{len(faults)} faults fit the source")
        return 1 if problems else 0
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for fault, (verdict, what) in zip(faults, pool.map(lambda one: try_one(one, given.most), faults)):
            bad += not verdict.isdigit()
            print(f"| {fault.name} | {fault.protects} | {verdict} | {what[:150]} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
