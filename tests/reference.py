#!/usr/bin/env python3
"""The parts of docs/reference/commands.md, docs/reference/control.md and the client's plugins that are made of the tables in the program:
`reference.py PROGRAM` says where they differ from what the program writes, `reference.py PROGRAM --write` puts it there. What a field means
stands behind it in schema/operations/*.hpp."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARGIN = "<!-- %s: made by tests/reference.py -->"


def comments():
    """What stands behind the fields: (record, field) -> comment, also of the fields that a record takes over;
    verb -> its request; record -> the one it takes fields over from."""
    found, requests, bases = {}, {}, {}
    for path in sorted((ROOT / "schema" / "operations").glob("*.hpp"), key=lambda path: path.name == "verb_arguments.hpp"):
        for record, above, body in re.findall(r"^struct (\w+)(?: : (\w+))? \{\n(.*?)^\};", path.read_text("utf-8"), re.M | re.S):
            if above:
                bases.setdefault(record, above)
            room = "arguments." if path.name == "verb_arguments.hpp" else ""
            found.update({(room + record, name): text for (of, name), text in list(found.items()) if of == room + above})
            for verb in re.findall(r' verb = "(\w+)"', body):
                requests[verb] = room + record
            for line in body.splitlines():
                field = re.fullmatch(r"  [\w:<>\", ]+? ((?:\w+(?: = \w+)?(?:, )?)+);(?: +// (.*))?", line)
                if field and field[2]:
                    for name in re.findall(r"(\w+)(?: = \w+)?", field[1]):
                        found[room + record, name] = field[2]
    return found, requests, bases


def words(schema):
    """A field's type, where it is no text."""
    if "$ref" in schema:
        return "[%s](#%s)" % (schema["$ref"][8:], schema["$ref"][8:].lower())
    if "enum" in schema:
        return ", ".join(schema["enum"][:-1]) + " or " + schema["enum"][-1] if len(schema["enum"]) > 1 else schema["enum"][0]
    if schema.get("type") == "array":
        inner = words(schema["items"]) if "items" in schema else ""
        return "list of " + inner if inner else "list"
    if not schema:
        return "JSON"
    return {"boolean": "bool", "integer": "number", "object": "object"}.get(schema["type"], "")


def field(name, schema, is_optional, comment=""):
    text = "`%s`" % name
    if is_optional:
        text = "[%s]" % text
    parts = [words(schema)] if not name.endswith("_ms") else []
    if "default" in schema:
        parts.append("%s if left out" % json.dumps(schema["default"]).strip('"'))
    kind = ", ".join(part for part in parts if part)
    return text + (": " + kind if kind else "") + (" (%s)" % comment if comment else "")


def fields(schema, record, told, but=()):
    needed = schema.get("required", [])
    return ", ".join(field(name, one, name not in needed, told.get((record, name), "")) for name, one in schema["properties"].items()
                     if name not in but)


def control(table):
    told, requests, bases = comments()
    verbs, parts = [], []
    for verb, row in table["verbs"].items():
        answer = fields(row["answer"], row["answer"].get("title", ""), told, ("ok",))
        verbs.append("* **`%s`**: %s. Request: %s. Answer: %s." % (
            verb, row["description"].rstrip("."), fields(row["request"], requests[verb], told, ("verb",)) or "no field", answer or "no field"))
    for name, schema in sorted(table["$defs"].items()):
        base = bases.get(name) if bases.get(name) in table["$defs"] else None
        taken = table["$defs"][base]["properties"] if base else ()
        parts.append("### %s\n\n%s%s." % (
            name, "All of [%s](#%s), and " % (base, base.lower()) if base else "", fields(schema, name, told, taken)))
    return {"verbs": "\n".join(verbs), "records": "\n\n".join(parts)}


def plain(roff):
    return roff.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")


def commands(overview, pages):
    """A table for each group of `help`, with the options of the manual pages."""
    lines = []
    for line in overview.splitlines():
        title, row = re.fullmatch(r"([A-Z][\w ]+):", line), re.fullmatch(r"  ([a-z][a-z -]*?)(?: {2,}(.*))?", line)
        if title and not line.startswith(("Usage", "Options")):
            lines += ["", "## " + title[1], "", "| command | what it does | options |", "|---|---|---|"]
        names = sorted(name for name in pages if row and (name == row[1] or name.startswith(row[1] + " ")))
        for name in names if lines else ():
            synopsis = re.search(r"\.B inbox-poller.*?\n\[OPTIONS\](.*)", pages[name])[1]
            options = [one for one in re.findall(r"^\.TP\n\\fB(-.*)\\fR$", pages[name], re.M) if not one.startswith("-h")]
            about = re.search(r"^\.SH NAME\n\S+ - (.*)$", pages[name], re.M)[1]
            lines.append("| `%s` | %s | %s |" % (name + synopsis, about, ", ".join("`%s`" % one for one in options)))
    return "\n".join(line.replace(" |  |", " | |") for line in lines).strip()


def wrapped(text, width=110):
    """Paragraphs and items at most so wide; tables as they are."""
    lines = []
    for line in text.splitlines():
        if line.startswith("|"):
            lines.append(line)
            continue
        indent = "  " if line.startswith("* ") else ""
        while len(line) > width:
            cut = line.rfind(" ", 0, width + 1)
            lines.append(line[:cut])
            line = indent + line[cut + 1:]
        lines.append(line)
    return "\n".join(lines)


PLUGINS = ROOT / "deploy" / "claude-code"


def plugin_hooks(program):
    """The hooks of the lead and of workers as `hook install` writes them for the newest client, with the plugin's script as the program."""
    hooks = {}
    for target in ("lead", "workers"):
        printed = subprocess.run([program, "hook", "install", "--print", "--target", target, "--client", "2.1.331"], check=True,
                                 capture_output=True, text=True).stdout
        for event, groups in json.loads(printed)["hooks"].items():
            for handler in (handler for group in groups for handler in group["hooks"]):
                handler["command"] = "${CLAUDE_PLUGIN_ROOT}/bin/inbox-poller-plugin"
            hooks.setdefault(event, []).extend(groups)
    return json.dumps({"hooks": hooks}, indent=2) + "\n"


def plugin_files(program):
    """path -> content, of the files below deploy/claude-code that are made."""
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    made = {PLUGINS / "plugin/hooks/hooks.json": plugin_hooks(program)}
    for path in sorted(PLUGINS.glob("*/.claude-plugin/plugin.json")):
        made[path] = json.dumps({**json.loads(path.read_text("utf-8")), "version": version}, indent=2) + "\n"
    return made


def main(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        subprocess.run([program, "manual", "--schemas", folder], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "manual", folder], check=True, stdout=subprocess.DEVNULL)
        overview = subprocess.run([program, "help"], check=True, capture_output=True, text=True).stdout
        pages = {}
        for path in made.glob("inbox-poller-*.1"):
            page = plain(path.read_text("utf-8"))
            pages[re.search(r"\.B inbox-poller ?(.*)", page)[1]] = page
        parts = {"docs/reference/control.md": control(json.loads((made / "control.json").read_text("utf-8"))),
                 "docs/reference/commands.md": {"commands": commands(overview, pages)}}
    wrong = 0
    for name, blocks in parts.items():
        path = ROOT / name
        text = path.read_text("utf-8")
        for block, content in blocks.items():
            begin, end = MARGIN % block, "<!-- end of %s -->" % block
            if begin not in text or end not in text:
                sys.exit("%s: no place for %r: %s and %s" % (name, block, begin, end))
            before, after = text.split(begin)[0], text.split(end)[1]
            now = before + begin + "\n\n" + wrapped(content) + "\n\n" + end + after
            if now != text and "--write" not in options:
                print("%s: %s is not what the program's tables say; tests/reference.py %s --write puts it there" % (name, block, program))
                wrong += 1
            text = now
        if "--write" in options:
            path.write_text(text, "utf-8")
    for path, content in plugin_files(program).items():
        if "--write" in options:
            path.write_text(content, "utf-8")
        elif path.read_text("utf-8") != content:
            print("%s is not what the program prints; tests/reference.py %s --write puts it there" % (path.relative_to(ROOT), program))
            wrong += 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
