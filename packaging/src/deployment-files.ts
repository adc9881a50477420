/** The files with which people deploy and watch Gatehouse: Helm chart, Compose file, dashboard and alerts. */
import { chmod, copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeArchive } from "./archive.ts";
import { StagedTree } from "./staged-tree.ts";

interface DeploymentOptions {
  readonly workspace: string;
  readonly version: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  readonly output: string;
}

/** Copied files: the source in `packaging`, and the end of the name. */
const copied: readonly (readonly [source: string, kind: string])[] = [
  ["compose/compose.yaml", "compose.yaml"],
  ["monitoring/dashboard.json", "dashboard.json"],
  ["monitoring/alerts.yaml", "alerts.yaml"],
];

/** @returns the paths of the files */
export async function writeDeploymentFiles(options: DeploymentOptions): Promise<readonly string[]> {
  const { workspace, version, output } = options;
  const files = [await writeChart(options)];
  for (const [source, kind] of copied) {
    const file = path.join(output, `gatehouse_${version}.${kind}`);
    await copyFile(path.join(workspace, "packaging", source), file);
    await chmod(file, 0o644);
    files.push(file);
  }
  return files;
}

/** The chart as `helm package` arranges it. */
async function writeChart({ workspace, version, time, output }: DeploymentOptions): Promise<string> {
  const chart = path.join(workspace, "packaging/helm/gatehouse");
  const root = await mkdtemp(path.join(tmpdir(), "gatehouse-chart-"));
  try {
    const tree = new StagedTree(root);
    for (const entry of await readdir(chart, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const source = path.join(entry.parentPath, entry.name);
      await tree.copy(source, path.join("gatehouse", path.relative(chart, source)));
    }
    const file = path.join(output, `gatehouse_${version}.chart.tgz`);
    await writeArchive(tree, file, time);
    return file;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
