/** Sets the version of a release in every file that states it. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** Files besides those of npm, with the text before the version. */
const statements: readonly { readonly file: string; readonly before: readonly string[] }[] = [
  { file: "packages/contract/src/version.ts", before: ['export const version = "'] },
  { file: "packages/cli/src/commands/device.ts", before: ['const agentVersion = "'] },
  { file: "packages/gateway/src/run.ts", before: ['const agentVersion = "'] },
  { file: "packages/server/src/demo/demo-people.ts", before: ['appVersion: "'] },
  { file: "packaging/helm/gatehouse/Chart.yaml", before: ["\nversion: ", "\nappVersion: "] },
  { file: "packaging/compose/compose.yaml", before: ["image: localhost/gatehouse:"] },
  { file: "docs/gateway.md", before: [" localhost/gatehouse-gateway:", " ./gatehouse_"] },
];

/** The parts of package.json and package-lock.json that have versions of the workspace. */
interface Description {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  packages?: Record<string, Description>;
}

/**
 * @returns the changed files, relative to the workspace
 * @throws Error if a file does not state the previous version where it should; nothing is written then
 */
export async function setVersion(workspace: string, previous: string, next: string): Promise<readonly string[]> {
  const changes = new Map<string, string>();
  for (const { file, before } of statements) {
    let text = await readFile(path.join(workspace, file), "utf8");
    for (const start of before) {
      if (!text.includes(start + previous)) throw new Error(`${file} does not contain ${start.trim()}${previous}.`);
      text = text.replaceAll(start + previous, start + next);
    }
    changes.set(file, text);
  }
  for (const file of await npmFiles(workspace)) {
    const description = JSON.parse(await readFile(path.join(workspace, file), "utf8")) as Description; // npm's formats
    setInDescription(description, next);
    for (const [folder, each] of Object.entries(description.packages ?? {})) {
      if (!folder.includes("node_modules/")) setInDescription(each, next);
    }
    changes.set(file, `${JSON.stringify(description, null, 2)}\n`);
  }
  for (const [file, text] of changes) await writeFile(path.join(workspace, file), text);
  return [...changes.keys()].sort();
}

function setInDescription(description: Description, next: string): void {
  if (description.version !== undefined) description.version = next;
  for (const dependencies of [description.dependencies ?? {}, description.devDependencies ?? {}]) {
    for (const name of Object.keys(dependencies)) if (name.startsWith("@gatehouse/")) dependencies[name] = next;
  }
}

async function npmFiles(workspace: string): Promise<readonly string[]> {
  const packages = await readdir(path.join(workspace, "packages"), { withFileTypes: true });
  const folders = packages.filter((entry) => entry.isDirectory()).map(({ name }) => `packages/${name}`);
  return [
    ...["package.json", "package-lock.json", "bench/package.json", "packaging/package.json"],
    ...folders.map((folder) => `${folder}/package.json`),
  ];
}
