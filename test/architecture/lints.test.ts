/** Proves that the lints fire that `biome.json` adds to the recommended ones. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root, runTool } from "./run-tool.ts";

/** Modules that violate a rule. They import `promised.ts`, so that the lint must follow types. */
const broken: readonly (readonly [rule: string, file: string, text: string])[] = [
  ["lint/nursery/noFloatingPromises", "call.ts", "export function run() {\n  later();\n}"],
  ["lint/nursery/noFloatingPromises", "method.ts", "export function run(store: Store) {\n  store.save();\n}"],
  ["lint/nursery/noFloatingPromises", "then.ts", "export function run() {\n  later().then(() => 1);\n}"],
  ["lint/suspicious/noExplicitAny", "any.ts", "export const anything = (value: any) => value;"],
  ["lint/style/noDefaultExport", "default.ts", "export default 1;"],
];

const promised = `export async function later() {}

export class Store {
  async save() {}
}
`;

const fine = `export async function run(store: Store) {
  await later();
  void later();
  return store.save();
}`;

let folder: string;
let reported: ReadonlySet<string>;

interface Report {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly severity: string;
    readonly location: { readonly path: string };
  }[];
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-lints-"));
  await Promise.all(["biome.json", ".gitignore"].map((name) => cp(path.join(root, name), path.join(folder, name))));
  await writeFile(path.join(folder, "promised.ts"), promised);
  for (const [, file, text] of [...broken, ["", "fine.ts", fine] as const]) {
    const imported = ["later", "Store"].filter((name) => text.includes(name));
    const header = imported.length === 0 ? "" : `import { ${imported.join(", ")} } from "./promised.ts";\n`;
    await writeFile(path.join(folder, file), `${header}${text}\n`);
  }
  const output = await runTool("biome", ["lint", "--reporter=json", "."], folder);
  const { diagnostics }: Report = JSON.parse(output);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  reported = new Set(errors.map(({ category, location }) => `${category} ${path.basename(location.path)}`));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the lints", () => {
  test.each(broken)("%s is reported in %s", (rule, file) => {
    expect([...reported]).toContain(`${rule} ${file}`);
  });

  test("accept promises that are awaited, returned or explicitly ignored", () => {
    expect([...reported].filter((entry) => entry.endsWith(" fine.ts"))).toEqual([]);
  });
});
