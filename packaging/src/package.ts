/** `npm run package`: builds all artefacts of a release into `dist/packages`. */
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildAgentsPackage } from "./apt-repository/agents-package.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { signChecksums, writeChecksums } from "./checksums.ts";
import { buildDebianPackage } from "./debian/debian-package.ts";
import { buildImage } from "./images/build-image.ts";
import { type PackageOptions, packageHelp, readPackageOptions } from "./package-options.ts";
import { releaseTime, releaseVersion } from "./release.ts";

const workspace = fileURLToPath(new URL("../../", import.meta.url));

const options = await readPackageOptions(process.argv.slice(2), workspace);
if (options === "help") process.stdout.write(packageHelp);
else await buildAll(options);

async function buildAll({ machines, wanted, key, images, output, compression }: PackageOptions): Promise<void> {
  const version = await releaseVersion(workspace);
  const time = await releaseTime(workspace);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const agents: { file: string; architecture: string }[] = [];
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
      if (images && artefact.image !== undefined) {
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

/** The hashes of package-lock.json by folder. */
async function lockedHashes(): Promise<ReadonlyMap<string, string>> {
  const lock: unknown = JSON.parse(await readFile(path.join(workspace, "package-lock.json"), "utf8"));
  const { packages } = lock as { packages: Record<string, { integrity?: string }> }; // npm's format 3
  return new Map(Object.entries(packages).map(([folder, { integrity = "" }]) => [folder, integrity]));
}
