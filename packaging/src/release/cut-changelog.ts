/**
 * Turns the section Unreleased of a changelog into the section of a version.
 *
 * @param date of the release, as YYYY-MM-DD
 * @throws Error if nothing is unreleased
 */
export function cutChangelog(text: string, version: string, date: string): string {
  const heading = "## [Unreleased]\n";
  const start = text.indexOf(heading);
  if (start < 0) throw new Error("CHANGELOG.md has no section Unreleased.");
  const rest = text.slice(start + heading.length);
  const end = rest.search(/^## /m);
  const section = end < 0 ? rest : rest.slice(0, end);
  if (!/^- /m.test(section)) throw new Error("The section Unreleased of CHANGELOG.md lists no change.");
  return `${text.slice(0, start)}${heading}\n## [${version}] - ${date}\n${rest}`;
}
