// usage: node json_parse.js SCAN_INBOX FOLDER…
// Our scanner beside JSON.parse, over every file below the folders: the same texts are arrays for both, with the same
// number of elements, of keys in each and the same `text`. Allowed to differ is only what schema/json_scan.hpp says: a
// BOM, white space alone, raw control characters in strings; and lone surrogates are U+FFFD.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

function filesBelow(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile()).map((entry) => path.join(entry.path, entry.name)).sort();
}

const wellFormed = (text) => text.toWellFormed();

function told(element) {
  if (element === null || typeof element !== "object" || Array.isArray(element)) return " -";
  const keys = new Set(Object.keys(element).map(wellFormed));
  // Of keys that are equal only once they are well-formed, the last one in the file counts; none of ours has that.
  const text = Object.hasOwn(element, "text") && typeof element.text === "string" ? element.text : undefined;
  return ` ${keys.size} ${text === undefined ? "-" : JSON.stringify(wellFormed(text))}`;
}

function expected(file) {
  let text = fs.readFileSync(file).toString("utf8");
  if (text.startsWith("\uFEFF")) text = text.slice(1);
  if (/^[ \t\r\n]*$/.test(text)) return "0";
  // A string token, and in it what JSON.parse alone refuses.
  text = text.replace(/"(?:[^"\\]|\\[^])*"/g, (token) =>
    // Not behind a backslash: that is an escape which neither takes.
    token.replace(/\\[^]|[\u0000-\u001F]/g, (c) => c[0] === "\\" ? c : "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")));
  let value;
  try {
    value = JSON.parse(text);
  } catch (problem) {
    if (problem instanceof SyntaxError) return "refused";
    throw problem;
  }
  return Array.isArray(value) ? value.length + value.map(told).join("") : "refused";
}

const [program, ...folders] = process.argv.slice(2);
const files = folders.flatMap(filesBelow);
if (files.length === 0) throw new Error(`no files below ${folders.join(" ")}`);
const lines = execFileSync(program, { input: files.join("\n") + "\n", maxBuffer: 1 << 30 }).toString("utf8").split("\n");
let arrays = 0;
let different = 0;
files.forEach((file, i) => {
  const wanted = expected(file);
  if (wanted !== "refused") ++arrays;
  if (lines[i] === wanted) return;
  ++different;
  if (different <= 10) console.log(`${file}\n  ours:       ${lines[i]}\n  JSON.parse: ${wanted}`);
});
console.log(`${files.length} texts, ${arrays} of them arrays: ${different} read differently`);
process.exit(different === 0 ? 0 : 1);
