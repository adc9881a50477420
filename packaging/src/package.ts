/** `npm run package`: builds all artefacts of a release into `dist/packages`. */
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildAgentsPackage } from "./apt-repository/agents-package.ts";
import { architectures } from "./architectures.ts";
import { artefacts } from "./artefacts/all.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { readReleaseKey, signChecksums, writeChecksums } from "./checksums.ts";
import { buildDebianPackage } from "./debian/debian-package.ts";
import { buildImage } from "./images/build-image.ts";
import { releaseTime, releaseVersion } from "./release.ts";

const workspace = fileURLToPath(new URL("../../", import.meta.url));

const help = `Usage: npm run package -- [options]

Builds the packages of this version into dist/packages, with checksums and a bill of materials for each.

  --architecture NAME   build only for amd64 or arm64; can be repeated
  --package NAME        build only this package; can be repeated
  --key FILE            sign the checksums with this Ed25519 key, in PEM format, and build gatehouse-agents, the
                        repository of agents that servers offer, which apt accepts only with a signature
  --images              also build container images of the server and the gateway; needs root, mmdebstrap and buildah
  --output FOLDER       write to this folder, which is emptied first
  --compression LEVEL   level of xz from 0 to 9 (default 6)
  --help                show this help
`;

const { values } = parseArgs({
  options: {
    architecture: { type: "string", multiple: true, default: architectures.map(({ name }) => name) },
    package: { type: "string", multiple: true, default: artefacts.map(({ name }) => name) },
    key: { type: "string" },
    images: { type: "boolean", default: false },
    output: { type: "string", default: path.join(workspace, "dist/packages") },
    compression: { type: "string", default: "6" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(help);
else await buildAll();

async function buildAll(): Promise<void> {
  const output = path.resolve(values.output);
  const version = await releaseVersion(workspace);
  const time = await releaseTime(workspace);
  const compression = Number(values.compression);
  if (!/^[0-9]$/.test(values.compression)) throw new Error(`--compression must be 0 to 9, not ${values.compression}.`);
  const wanted = selected(artefacts, values.package, "--package");
  const machines = selected(architectures, values.architecture, "--architecture");
  const key = values.key === undefined ? undefined : await readReleaseKey(values.key);
  const agents: { file: string; architecture: string }[] = [];
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const cache = path.join(workspace, "node_modules/.cache/gatehouse-packaging");
  const integrity = await lockedHashes();
  for (const architecture of machines) {
    for (const artefact of wanted) {
      const options = { workspace, version, time, compression, output, cache };
      const { file, packages, programs } = await buildDebianPackage(artefact, architecture, options);
      const { name } = artefact;
      await writeFile(
        file.replace(/\.deb$/, ".cdx.json"),
        billOfMaterials({ name, version, architecture: architecture.name, time, packages, programs, integrity }),
      );
      if (artefact.isAgent) agents.push({ file, architecture: architecture.name });
      await printSize(file);
      if (values.images && artefact.image !== undefined) {
        const { name, summary } = artefact;
        const { includes } = artefact.image;
        const image = { name, summary, includes, architecture: architecture.name, packageFile: file };
        await printSize(await buildImage({ ...image, workspace, version, time, output }));
      }
    }
  }
  if (key !== undefined && agents.length > 0) {
    await printSize(await buildAgentsPackage({ workspace, version, time, output, privateKey: key, packages: agents }));
  }
  await writeChecksums(output);
  if (key === undefined)
    console.log("Without --key FILE, checksums are not signed, and gatehouse-agents is not built.");
  else await signChecksums(output, key);
}

async function printSize(file: string): Promise<void> {
  const { size } = await stat(file);
  console.log(`${path.relative(process.cwd(), file)}  ${(size / 1e6).toFixed(1)} MB`);
}

function selected<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[],
  option: string,
): readonly T[] {
  const unknown = names.find((name) => !all.some((each) => each.name === name));
  if (unknown !== undefined) {
    throw new Error(`${option} ${unknown} is unknown. Use one of: ${all.map(({ name }) => name).join(", ")}.`);
  }
  return all.filter(({ name }) => names.includes(name));
}

/** The hashes of package-lock.json by folder. */
async function lockedHashes(): Promise<ReadonlyMap<string, string>> {
  const lock: unknown = JSON.parse(await readFile(path.join(workspace, "package-lock.json"), "utf8"));
  const { packages } = lock as { packages: Record<string, { integrity?: string }> }; // npm's format 3
  return new Map(Object.entries(packages).map(([folder, { integrity = "" }]) => [folder, integrity]));
}
