import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const page = read("docs/operations.md");
const shown = /alerts\.yaml`:\n\n```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";
/** Metrics in the table of the page; a histogram has further names. */
const documented = [...page.matchAll(/^\| `(gatehouse_\w+)`/gm)].map(([, name = ""]) => name);

test("the file of alert rules has the documented rules", () => {
  const [rules] = parse(read("packaging/monitoring/alerts.yaml")).groups;
  expect(parse(shown).groups).toEqual([rules]);
  expect(rules.rules.length).toBeGreaterThan(10);
});

test("the dashboard and the alert rules use documented metrics only", () => {
  const { panels } = JSON.parse(read("packaging/monitoring/dashboard.json"));
  const [{ rules }] = parse(shown).groups;
  const texts: string[] = [
    ...panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
    ...rules.map(({ expr }: { expr: string }) => expr),
  ];
  const used = texts.flatMap((text) => text.match(/gatehouse_\w+/g) ?? []);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !documented.includes(name.replace(/_(bucket|count|sum)$/, "")))).toEqual([]);
});
