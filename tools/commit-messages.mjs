/** The rules for commit messages in CONTRIBUTING.md. */

export const longestSubject = 72;

const subjectForm = /^[a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*: (?<summary>\S.*)$/;
/** Words that look like another form of a verb, and are imperative. */
const imperatives = new Set(
  "access address assess bring bypass compress cross discuss dismiss embed exceed express feed focus guess need pass press process proceed ring seed shed speed stress string suppress".split(
    " ",
  ),
);

/**
 * @param {string} message as Git stores it, or as an editor leaves it, with comments
 * @returns {readonly string[]} the problems, each with its remedy
 */
export function commitProblems(message) {
  const scissors = message.search(/^# -+ >8 -+$/m);
  const lines = (scissors < 0 ? message : message.slice(0, scissors))
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  const [subject = "", separator, ...body] = lines;
  // Git writes these subjects.
  if (/^(?:Merge |Revert ")/.test(subject)) return [];
  const problems = [];
  const summary = subjectForm.exec(subject)?.groups?.summary;
  if (summary === undefined) {
    problems.push(`The subject ${JSON.stringify(subject)} has no area. Write "area: imperative summary".`);
  } else {
    const verb = summary.split(/\s/)[0] ?? "";
    if (/^[A-Z][a-z]/.test(verb)) problems.push(`The summary begins with a capital letter: "${verb}". Use lower case.`);
    if (/(?:ed|ing|[^s]s)$/.test(verb) && !imperatives.has(verb)) {
      problems.push(`The summary begins with "${verb}". Use the imperative, such as "add" or "fix".`);
    }
    if (summary.endsWith(".")) problems.push("The subject ends with a full stop. Remove it.");
  }
  if (subject.length > longestSubject) {
    problems.push(`The subject has ${subject.length} characters. Use at most ${longestSubject}.`);
  }
  if (separator !== undefined && separator !== "") {
    problems.push("The second line is not empty. Separate the subject from the body.");
  }
  if (!body.some((line) => line !== "")) problems.push("The body is missing. Say why the change is needed.");
  return problems;
}
