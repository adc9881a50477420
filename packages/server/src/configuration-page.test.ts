import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { expect, test } from "vitest";
import { settingNames, settings, variableOf } from "./config.ts";

/** The list items of docs/configuration.md that begin with a variable, on one line each. */
function documentedSettings(): readonly string[] {
  const page = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
  return page
    .split(/\n(?=- |\n)/)
    .map((item) => item.trim().replaceAll(/\s+/g, " "))
    .filter((item) => item.startsWith("- `GATEHOUSE_"));
}

function defaultText(name: keyof typeof settings): string {
  const { default: value } = settings[name];
  if (value === undefined) return "";
  return `, default \`${name === "dataDir" ? `./${relative(".", String(value))}` : String(value)}\``;
}

test("docs/configuration.md documents every setting with its default and description, and no other setting", () => {
  const expected = settingNames.map(
    (name) => `- \`${variableOf(name)}\`${defaultText(name)}: ${settings[name].description}`,
  );
  expect(documentedSettings().toSorted()).toEqual(expected.toSorted());
});
