/** The options of `npm run package`, validated before anything is built. */
import type { KeyObject } from "node:crypto";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { type Architecture, architectures } from "./architectures.ts";
import { artefacts } from "./artefacts/all.ts";
import type { Artefact } from "./artefacts/artefact.ts";
import { readReleaseKey } from "./checksums.ts";
import { requirePrograms } from "./run-program.ts";

export const packageHelp = `Usage: npm run package -- [options]

Builds the packages of this version into dist/packages, with checksums and a bill of materials for each.

  --architecture NAME   build only for amd64 or arm64; can be repeated
  --package NAME        build only this package; can be repeated. Besides the Debian packages, npm stands for the
                        archives of client and command line, and deployment for the Helm chart, the Compose file, the
                        dashboard and the alerts
  --key FILE            sign the checksums with this Ed25519 key, in PEM format, and build gatehouse-agents, the
                        repository of agents that servers offer, which apt accepts only with a signature. The file must
                        be outside the checkout
  --images              also build container images of the server and the gateway; needs root, mmdebstrap and buildah
  --output FOLDER       write to this folder, which is emptied first
  --compression LEVEL   level of xz, and of gzip for images, from 0 to 9 (default 6)
  --help                show this help
`;

const buildable: readonly { readonly name: string }[] = [...artefacts, { name: "npm" }, { name: "deployment" }];

export interface PackageOptions {
  readonly machines: readonly Architecture[];
  readonly wanted: readonly Artefact[];
  /** Whether to build the archives for npm. */
  readonly npm: boolean;
  /** Whether to build the Helm chart, and to copy the other files for deployments. */
  readonly deployment: boolean;
  /** The release key. */
  readonly key: KeyObject | undefined;
  readonly images: boolean;
  readonly output: string;
  readonly compression: number;
}

/**
 * @returns "help" if the options ask for it
 * @throws Error if an option is invalid, or a program that the build needs is missing
 */
export async function readPackageOptions(args: readonly string[], workspace: string): Promise<PackageOptions | "help"> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      architecture: { type: "string", multiple: true, default: architectures.map(({ name }) => name) },
      package: { type: "string", multiple: true, default: buildable.map(({ name }) => name) },
      key: { type: "string" },
      images: { type: "boolean", default: false },
      output: { type: "string", default: path.join(workspace, "dist/packages") },
      compression: { type: "string", default: "6" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (!/^[0-9]$/.test(values.compression)) throw new Error(`--compression must be 0 to 9, not ${values.compression}.`);
  const packages = selected(buildable, values.package, "--package").map(({ name }) => name);
  const wanted = artefacts.filter(({ name }) => packages.includes(name));
  const machines = selected(architectures, values.architecture, "--architecture");
  const key = values.key === undefined ? undefined : await readKeyOutside(workspace, values.key);
  await requirePrograms("dpkg-deb", "npm", "tar");
  if (values.images) {
    await requirePrograms("mmdebstrap", "buildah");
    if (process.getuid?.() !== 0) throw new Error("--images needs root. Run the command as root, or omit --images.");
  }
  return {
    machines,
    wanted,
    npm: packages.includes("npm"),
    deployment: packages.includes("deployment"),
    key,
    images: values.images,
    output: path.resolve(values.output),
    compression: Number(values.compression),
  };
}

/** A key in the checkout could be committed by mistake. */
async function readKeyOutside(workspace: string, file: string): Promise<KeyObject> {
  const [root, actual] = await Promise.all([realpath(workspace), realpath(file)]);
  const fromRoot = path.relative(root, actual);
  const isOutside = fromRoot === ".." || fromRoot.startsWith(`..${path.sep}`) || path.isAbsolute(fromRoot);
  if (!isOutside) {
    throw new Error(
      `The release key ${file} is inside the checkout. Move it to a folder outside, and never commit it.`,
    );
  }
  return readReleaseKey(file);
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
