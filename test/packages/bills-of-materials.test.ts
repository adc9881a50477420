/** The bills of materials, examined with the tools of CycloneDX: valid, and the same facts as cyclonedx-npm finds. */
import { mkdir, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { must } from "./debian-root.ts";
import { testedArtefacts, workspace } from "./tested-release.ts";

/** Its packages are installed for a run of these tests only: npm test does not need them. */
const tool = "@cyclonedx/cyclonedx-npm@6.0.1";

interface Component {
  readonly purl?: string;
  readonly licenses?: readonly License[];
}
type License = { readonly expression: string } | { readonly license: { readonly id?: string; readonly name?: string } };
interface Bill {
  readonly specVersion: string;
  readonly components: readonly Component[];
}
/** The part of @cyclonedx/cyclonedx-library that is used here. */
interface Library {
  readonly Validation: {
    readonly JsonStrictValidator: new (version: string) => { validate(text: string): Promise<unknown> };
  };
}

describe("the bills of materials", () => {
  const bills = new Map<string, string>();
  let modules: string;

  beforeAll(async () => {
    const { folder } = await testedArtefacts();
    for (const file of (await readdir(folder)).filter((each) => each.endsWith(".cdx.json"))) {
      bills.set(file, await readFile(path.join(folder, file), "utf8"));
    }
    const target = path.join(inject("packagesFolder"), "cyclonedx");
    await mkdir(target);
    const options = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    await must("npm", ["install", "--prefix", target, ...options, tool]);
    modules = path.join(target, "node_modules/@cyclonedx");
  }, 3_600_000);

  test("are valid CycloneDX 1.6", async () => {
    const entry = path.join(modules, "cyclonedx-library/dist.node/index.node.js");
    const loaded: { default: Library } = await import(pathToFileURL(entry).href);
    const validator = new loaded.default.Validation.JsonStrictValidator("1.6");
    const findings: Record<string, unknown> = {};
    for (const [file, text] of bills) findings[file] = await validator.validate(text);
    expect(bills.size).toBeGreaterThanOrEqual(10);
    expect(findings).toEqual(Object.fromEntries([...bills.keys()].map((file) => [file, null])));
    expect(await validator.validate("{}")).not.toBeNull();
  });

  test("name each installed npm package as cyclonedx-npm does, with the same licence", async () => {
    const program = path.join(modules, "cyclonedx-npm/bin/cyclonedx-npm-cli.js");
    const options = ["--flatten-components", "--short-PURLs", "--spec-version", "1.6", "--output-file", "-"];
    const found: Bill = JSON.parse(
      await must(process.execPath, [program, ...options, path.join(workspace, "package.json")]),
    );
    const licenses = new Map(found.components.map((each) => [each.purl, licenseOf(each)]));
    const different: string[] = [];
    let compared = 0;
    for (const [file, text] of bills) {
      const bill: Bill = JSON.parse(text);
      for (const component of bill.components.filter(({ purl }) => isInstalled(purl))) {
        compared += 1;
        const own = `${component.purl} ${licenseOf(component)}`;
        const theirs = `${component.purl} ${licenses.get(component.purl)}`;
        if (own !== theirs) different.push(`${file}: ${own}, not ${theirs}`);
      }
    }
    expect(different).toEqual([]);
    expect(compared).toBeGreaterThan(200);
  });
});

/** Node.js and PostgreSQL come from archives that are not installed in the workspace. */
function isInstalled(purl = ""): boolean {
  return purl.startsWith("pkg:npm/") && !/\/(node-linux-|%40embedded-postgres\/)/.test(purl);
}

function licenseOf({ licenses = [] }: Component): string {
  return licenses
    .map((each) => ("expression" in each ? each.expression : (each.license.id ?? each.license.name ?? "")))
    .join(" AND ");
}
