/** Stages an artefact for Debian and builds its package. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { copyApplication, type IncludedPackage } from "../application.ts";
import type { Architecture } from "../architectures.ts";
import type { Artefact } from "../artefacts/artefact.ts";
import { bashCompletion } from "../pages/bash-completion.ts";
import { manualPage } from "../pages/manual-page.ts";
import { addNode, addPostgres, type IncludedProgram } from "../runtime.ts";
import { StagedTree } from "../staged-tree.ts";
import { buildDeb } from "./build-deb.ts";
import { writeDocuments } from "./documents.ts";
import { lintianOverrides } from "./lintian-overrides.ts";
import { maintainerScripts } from "./maintainer-scripts.ts";

export interface BuildOptions {
  /** The built workspace. */
  readonly workspace: string;
  readonly version: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  /** Level of xz, 0 to 9. */
  readonly compression: number;
  /** Folder to write to. */
  readonly output: string;
  /** Folder for downloaded archives. */
  readonly cache: string;
}

export interface BuiltPackage {
  readonly file: string;
  readonly packages: readonly IncludedPackage[];
  readonly programs: readonly IncludedProgram[];
}

/** Libraries of Node.js and PostgreSQL, in the versions that their releases require. */
const libraries = ["libc6 (>= 2.28)", "libgcc-s1", "libstdc++6 (>= 9)"];

export async function buildDebianPackage(
  artefact: Artefact,
  architecture: Architecture,
  options: BuildOptions,
): Promise<BuiltPackage> {
  const root = await mkdtemp(path.join(tmpdir(), "gatehouse-package-"));
  try {
    const tree = new StagedTree(root);
    const folder = `usr/lib/${artefact.name}`;
    const { workspace, version, time, cache, compression, output } = options;
    const packages = await copyApplication(artefact.application, { workspace, tree, folder });
    const runtime = { architecture, tree, folder, cache };
    const programs = [
      await addNode(runtime),
      ...(artefact.includesPostgres ? [await addPostgres(runtime, workspace)] : []),
    ];
    await addCommand(tree, artefact);
    await addFiles(tree, artefact, workspace);
    await addPages(tree, artefact, options);
    await writeDocuments(tree, { name: artefact.name, version, time, workspace, included: packages, programs });
    await tree.write(`usr/share/lintian/overrides/${artefact.name}`, lintianOverrides(artefact));
    const file = await buildDeb(tree, {
      control: {
        ...artefact,
        version,
        architecture: architecture.name,
        depends: [...libraries, ...artefact.depends],
      },
      scripts: maintainerScripts(artefact.service),
      time,
      compression,
      output,
    });
    return { file, packages, programs };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function addCommand(tree: StagedTree, { name, main, nodeOptions, environmentFile }: Artefact): Promise<void> {
  const folder = `/usr/lib/${name}`;
  const start = (...options: readonly string[]) =>
    ["exec", `${folder}/bin/node`, ...options, ...nodeOptions, `${folder}/${main}`, '"$@"'].join(" ");
  const lines = [
    "#!/bin/sh",
    ...(environmentFile === undefined
      ? []
      : [
          "# Root manages this machine's server, and uses its settings. Variables of the caller take precedence.",
          `if [ -r ${environmentFile} ]; then`,
          `  ${start(`--env-file=${environmentFile}`)}`,
          "fi",
        ]),
    start(),
    "",
  ];
  await tree.write(`usr/bin/${name}`, lines.join("\n"), 0o755);
}

async function addFiles(tree: StagedTree, { files }: Artefact, workspace: string): Promise<void> {
  for (const file of files) {
    if ("content" in file) await tree.write(file.path, file.content, file.mode);
    else await tree.copy(path.join(workspace, file.source), file.path, file.mode);
  }
}

async function addPages(
  tree: StagedTree,
  artefact: Artefact,
  { workspace, version, time }: BuildOptions,
): Promise<void> {
  const { name, manualFiles, seeAlso } = artefact;
  const help = await artefact.help(workspace);
  const date = new Date(time * 1000).toISOString().slice(0, 10);
  const page = manualPage(help, { version, date, files: manualFiles, seeAlso });
  await tree.writeCompressed(`usr/share/man/man1/${name}.1`, page);
  await tree.write(`usr/share/bash-completion/completions/${name}`, bashCompletion(help));
}
