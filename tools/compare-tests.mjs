/**
 * Compares the tests of two commits: `node tools/compare-tests.mjs FROM TO [--json]`. It reads the titles of tests from
 * the sources, because an old commit cannot be run with today's tools. A title that a commit replaced is followed to
 * its successor, so that only tests without a successor count as removed.
 */
import { execFileSync } from "node:child_process";
import { parseAst } from "rolldown/parseAst";

const [from, to, form] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  console.error("Pass two commits: node tools/compare-tests.mjs FROM TO [--json]");
  process.exit(2);
}

const testFiles = ["*.test.ts", "*.test.tsx"];
/** Titles in one file that have at least this part of their words in common count as the same test. */
const similarInFile = 0.35;
/** The same for titles in different files of one commit. */
const similarInCommit = 0.6;

/** @param {readonly string[]} args */
const git = (args, input = "") =>
  execFileSync("git", args, { encoding: "utf8", input, maxBuffer: 2 ** 30, stdio: ["pipe", "pipe", "inherit"] });
/** @param {string} text */
const lines = (text) => text.split("\n").filter((line) => line !== "");

/** @typedef {{ title: string, rows: number }} Test `rows`: rows of the literal table of `test.each`, otherwise 1 */

/** @type {Map<string, readonly Test[]>} */
const testsOfBlob = new Map();

/**
 * Reads blobs in one process.
 *
 * @param {readonly string[]} blobs
 */
function readBlobs(blobs) {
  const unread = [...new Set(blobs)].filter((blob) => !testsOfBlob.has(blob) && !/^0+$/.test(blob));
  const output = execFileSync("git", ["cat-file", "--batch"], { input: unread.join("\n"), maxBuffer: 2 ** 30 });
  let at = 0;
  for (const blob of unread) {
    const end = output.indexOf("\n", at);
    const size = Number(output.subarray(at, end).toString().split(" ")[2]);
    testsOfBlob.set(blob, testsIn(output.subarray(end + 1, end + 1 + size).toString()));
    at = end + 1 + size + 1;
  }
}

/**
 * @param {string} source
 * @returns {readonly Test[]}
 */
function testsIn(source) {
  /** @type {Test[]} */
  const found = [];
  const visit = (/** @type {any} */ node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (node === null || typeof node !== "object") return;
    if (node.type === "CallExpression" && isTest(node)) {
      const [title] = node.arguments;
      const table = node.callee.type === "CallExpression" ? withoutTypes(node.callee.arguments[0]) : undefined;
      found.push({
        title: title.type === "Literal" ? String(title.value) : source.slice(title.start, title.end),
        rows: table?.type === "ArrayExpression" ? table.elements.length : 1,
      });
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parse(source).body);
  return found;
}

/** @param {string} source */
function parse(source) {
  try {
    return parseAst(source, { lang: "ts" });
  } catch {
    return parseAst(source, { lang: "tsx" });
  }
}

/** Whether a call declares a test: `test(…)`, `it(…)`, `test.skipIf(…)(…)`, `test.each(…)(…)`. @param {any} call */
function isTest(call) {
  if (call.arguments.length < 2) return false;
  let callee = call.callee;
  const members = [];
  while (callee.type === "CallExpression" || callee.type === "MemberExpression") {
    if (callee.type === "MemberExpression") members.push(callee.property.name);
    callee = callee.type === "CallExpression" ? callee.callee : callee.object;
  }
  if (callee.type !== "Identifier" || !["test", "it"].includes(callee.name)) return false;
  // `test.each(table)` and `test.skipIf(condition)` alone declare nothing.
  return call.callee.type !== "MemberExpression" || !["each", "skipIf", "runIf", "for"].includes(members[0]);
}

/** @param {any} node */
const withoutTypes = (node) => (node?.type === "TSAsExpression" ? withoutTypes(node.expression) : node);

/** @param {string} commit */
function testsAt(commit) {
  const files = lines(git(["ls-tree", "-r", commit])).flatMap((line) => {
    const [entry = "", file = ""] = line.split("\t");
    return /\.test\.tsx?$/.test(file) ? [{ file, blob: entry.split(" ")[2] ?? "" }] : [];
  });
  readBlobs(files.map(({ blob }) => blob));
  return files.flatMap(({ file, blob }) => (testsOfBlob.get(blob) ?? []).map((test) => ({ file, ...test })));
}

/** @typedef {{ from: string, to: string | undefined, commit: string, subject: string }} Step */

/** The replacements and removals of titles, by their commit. */
function steps() {
  const commits = lines(
    git(["log", "--reverse", "--topo-order", "--no-merges", "--format=%h%x09%s", `${from}..${to}`]),
  );
  const changes = commits.map((line) => {
    const [commit = "", subject = ""] = line.split("\t");
    const diff = lines(git(["diff-tree", "-r", "-M", "--no-commit-id", commit, "--", ...testFiles]));
    const files = diff.map((entry) => entry.slice(1).split("\t")[0]?.split(" ") ?? []);
    return { commit, subject, files: files.map(([, , before = "", after = ""]) => ({ before, after })) };
  });
  readBlobs(changes.flatMap(({ files }) => files.flatMap(({ before, after }) => [before, after])));
  return changes.flatMap(stepsOf);
}

/**
 * @param {{ commit: string, subject: string, files: readonly { before: string, after: string }[] }} change
 * @returns {readonly Step[]}
 */
function stepsOf({ commit, subject, files }) {
  /** @type {{ title: string, file: number }[]} */
  const removed = [];
  /** @type {{ title: string, file: number }[]} */
  const added = [];
  for (const [file, { before, after }] of files.entries()) {
    const old = (testsOfBlob.get(before) ?? []).map(({ title }) => title);
    const current = (testsOfBlob.get(after) ?? []).map(({ title }) => title);
    removed.push(...without(old, current).map((title) => ({ title, file })));
    added.push(...without(current, old).map((title) => ({ title, file })));
  }
  // Tests that moved to another file.
  const moved = new Set(removed.map(({ title }) => title).filter((title) => added.some((one) => one.title === title)));
  const open = removed.filter(({ title }) => !moved.has(title));
  const pairs = open
    .flatMap((old) =>
      added
        .filter(({ title }) => !moved.has(title))
        .map((one) => ({ old, one, likeness: likeness(old.title, one.title) })),
    )
    .filter(({ old, one, likeness }) => likeness >= (old.file === one.file ? similarInFile : similarInCommit))
    .sort((left, right) => right.likeness - left.likeness);
  /** @type {Map<{ title: string, file: number }, { title: string, file: number }>} */
  const successors = new Map();
  const taken = new Set();
  for (const { old, one } of pairs) {
    if (successors.has(old) || taken.has(one)) continue;
    successors.set(old, one);
    taken.add(one);
  }
  // A commit that rewords all titles of a file leaves their number and order, also if it renames the file.
  for (const file of files.keys()) {
    const left = open.filter((old) => old.file === file && !successors.has(old));
    const target =
      mostFrequent([...successors].filter(([old]) => old.file === file).map(([, one]) => one.file)) ?? file;
    const fresh = added.filter((one) => one.file === target && !taken.has(one) && !moved.has(one.title));
    if (left.length !== fresh.length) continue;
    for (const [index, old] of left.entries()) {
      const one = fresh[index];
      if (one === undefined) continue;
      successors.set(old, one);
      taken.add(one);
    }
  }
  return open.map((old) => ({ from: old.title, to: successors.get(old)?.title, commit, subject }));
}

/** @param {readonly number[]} values */
function mostFrequent(values) {
  const count = (/** @type {number} */ value) => values.filter((other) => other === value).length;
  return values.toSorted((one, other) => count(other) - count(one))[0];
}

/**
 * @param {readonly string[]} all
 * @param {readonly string[]} some
 */
function without(all, some) {
  const left = [...some];
  return all.filter((title) => {
    const index = left.indexOf(title);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

/** The words that two titles have in common, as a part of all their words. @param {string} one @param {string} other */
function likeness(one, other) {
  const [left, right] = [one, other].map((title) => new Set(title.toLowerCase().match(/[a-z0-9$]+/g)));
  if (left === undefined || right === undefined || left.size === 0 || right.size === 0) return 0;
  const common = [...left].filter((word) => right.has(word)).length;
  return (2 * common) / (left.size + right.size);
}

const before = testsAt(from);
const after = testsAt(to);
const present = new Set(after.map(({ title }) => title));
/** @type {Map<string, Step[]>} */
const byTitle = new Map();
for (const step of steps()) byTitle.set(step.from, [...(byTitle.get(step.from) ?? []), step]);

/**
 * Follows the replacements of a title.
 *
 * @param {string} title
 * @param {Set<string>} [seen]
 * @returns {{ now: string } | { removed: Step | undefined }}
 */
function follow(title, seen = new Set()) {
  if (present.has(title)) return { now: title };
  seen.add(title);
  const next = byTitle.get(title) ?? [];
  let ended = next.at(-1);
  for (const step of next.toReversed()) {
    if (step.to === undefined || seen.has(step.to)) continue;
    const end = follow(step.to, seen);
    if ("now" in end) return end;
    ended = end.removed ?? ended;
  }
  return { removed: ended };
}

const results = before.map((test) => ({ ...test, end: follow(test.title) }));
const removed = results.flatMap(({ file, title, rows, end }) =>
  "removed" in end
    ? [{ file, title, rows, last: end.removed?.from, commit: end.removed?.commit, subject: end.removed?.subject }]
    : [],
);
const summary = {
  before: { files: new Set(before.map(({ file }) => file)).size, titles: before.length },
  after: { files: new Set(after.map(({ file }) => file)).size, titles: after.length },
  same: results.filter(({ title, end }) => "now" in end && end.now === title).length,
  reworded: results.filter(({ title, end }) => "now" in end && end.now !== title).length,
  removed: removed.length,
};
if (form === "--json") console.log(JSON.stringify({ summary, removed }, undefined, 2));
else {
  console.log(JSON.stringify(summary));
  for (const { file, title, commit, subject } of removed) console.log(`${commit}\t${subject}\t${file}\t${title}`);
}
