/** Builds the artefacts of a release, with a bill of materials for each, checksums and their signature. */
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { buildAgentsPackage } from "./apt-repository/agents-package.ts";
import type { Architecture } from "./architectures.ts";
import type { Artefact } from "./artefacts/artefact.ts";
import { type BillOptions, billOfMaterials, debianPackage, type Included } from "./bill-of-materials.ts";
import { signChecksums, writeChecksums } from "./checksums.ts";
import { buildDebianPackage } from "./debian/debian-package.ts";
import { writeDeploymentFiles } from "./deployment-files.ts";
import { buildImage } from "./images/build-image.ts";
import { buildNpmPackage } from "./npm/build-npm-package.ts";
import { npmPackages } from "./npm/packages.ts";
import type { PackageOptions } from "./package-options.ts";
import { releaseTime, releaseVersion } from "./release.ts";

interface Build extends Pick<PackageOptions, "output" | "compression" | "images"> {
  readonly workspace: string;
  readonly version: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  /** Folder for downloaded archives. */
  readonly cache: string;
  /** The hashes of package-lock.json by folder. */
  readonly integrity: ReadonlyMap<string, string>;
}

/** @param workspace the built workspace */
export async function buildRelease(workspace: string, options: PackageOptions): Promise<void> {
  const { machines, wanted, npm, deployment, key, images, output, compression } = options;
  const build: Build = {
    ...{ workspace, output, compression, images },
    version: await releaseVersion(workspace),
    time: await releaseTime(workspace),
    cache: path.join(workspace, "node_modules/.cache/gatehouse-packaging"),
    integrity: await lockedHashes(workspace),
  };
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const agents: { file: string; name: string; architecture: string }[] = [];
  for (const architecture of machines) {
    for (const artefact of wanted) {
      const file = await buildForMachine(artefact, architecture, build);
      if (artefact.isAgent) agents.push({ file, name: artefact.name, architecture: architecture.name });
    }
  }
  if (key !== undefined && agents.length > 0) {
    const file = await buildAgentsPackage({ ...build, privateKey: key, packages: agents });
    const name = "gatehouse-agents";
    await describe(file, build, {
      ...debianPackage("gatehouse", name, build.version, "all"),
      others: agents.map((agent) => debianPackage("gatehouse", agent.name, build.version, agent.architecture)),
    });
  }
  if (npm) {
    for (const each of npmPackages) {
      const { file, description, packages } = await buildNpmPackage(each, build);
      const { name, version } = description;
      await describe(file, build, { name, purl: `pkg:npm/${name.replace("@", "%40")}@${version}`, packages });
    }
  }
  if (deployment) for (const file of await writeDeploymentFiles(build)) await describeDeployment(file, build);
  await writeChecksums(output);
  if (key === undefined)
    console.log("Without --key FILE, checksums are not signed, and gatehouse-agents is not built.");
  else await signChecksums(output, key);
}

/** @returns the path of the Debian package */
async function buildForMachine(artefact: Artefact, { name: machine, ...rest }: Architecture, build: Build) {
  const { name, summary, image } = artefact;
  const { version } = build;
  const { file, packages, programs } = await buildDebianPackage(artefact, { name: machine, ...rest }, build);
  const contents = { packages, programs };
  await describe(file, build, { ...debianPackage("gatehouse", name, version, machine), ...contents });
  if (build.images && image !== undefined) {
    const { includes } = image;
    const built = await buildImage({ ...build, name, summary, includes, architecture: machine, packageFile: file });
    const others = built.includes;
    await describe(built.file, build, { ...imageOf(name, version, machine), ...contents, others });
  }
  return file;
}

/** Charts and Compose files run the images. Other files run nothing. */
async function describeDeployment(file: string, build: Build): Promise<void> {
  const { version } = build;
  const images: Readonly<Record<string, readonly string[]>> = {
    "chart.tgz": ["gatehouse", "gatehouse-gateway"],
    "compose.yaml": ["gatehouse"],
  };
  const name = path.basename(file).slice(`gatehouse_${version}.`.length);
  await describe(file, build, {
    name: path.basename(file),
    purl: `pkg:generic/gatehouse/${name}@${version}`,
    others: (images[name] ?? []).map((image) => imageOf(image, version)),
  });
}

function imageOf(name: string, version: string, architecture?: string): Included {
  const query = architecture === undefined ? "" : `?arch=${architecture}`;
  return { name, version, purl: `pkg:oci/${name}@${version}${query}` };
}

/** Writes the bill of materials of an artefact, and prints the artefact's size. */
async function describe(
  file: string,
  { version, time, integrity }: Build,
  contents: Pick<BillOptions, "name" | "purl" | "packages" | "programs" | "others">,
): Promise<void> {
  const { name, purl, packages = [], programs = [], others = [] } = contents;
  const bill = billOfMaterials({ name, purl, version, time, integrity, packages, programs, others });
  await writeFile(`${file.replace(/\.(deb|tar\.gz|tgz|yaml|json)$/, "")}.cdx.json`, bill, { mode: 0o644 });
  const { size } = await stat(file);
  console.log(`${path.relative(process.cwd(), file)}  ${(size / 1e6).toFixed(1)} MB`);
}

async function lockedHashes(workspace: string): Promise<ReadonlyMap<string, string>> {
  const lock: unknown = JSON.parse(await readFile(path.join(workspace, "package-lock.json"), "utf8"));
  const { packages } = lock as { packages: Record<string, { integrity?: string }> }; // npm's format 3
  return new Map(Object.entries(packages).map(([folder, { integrity = "" }]) => [folder, integrity]));
}
