/** The Debian package `gatehouse-agents`: the repository that a server offers to the machines of its agents. */
import type { KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildDeb } from "../debian/build-deb.ts";
import { writeDocuments } from "../debian/documents.ts";
import { StagedTree } from "../staged-tree.ts";
import { buildRepository } from "./build-repository.ts";

interface AgentsPackageOptions {
  readonly workspace: string;
  readonly version: string;
  /** Time of all files, in seconds since 1970. */
  readonly time: number;
  readonly output: string;
  readonly privateKey: KeyObject;
  /** The packages of agents for all architectures. */
  readonly packages: readonly { readonly file: string; readonly architecture: string }[];
}

const name = "gatehouse-agents";

/** @returns the path of the package */
export async function buildAgentsPackage(options: AgentsPackageOptions): Promise<string> {
  const { workspace, version, time, output, privateKey, packages } = options;
  const root = await mkdtemp(path.join(tmpdir(), "gatehouse-package-"));
  try {
    const tree = new StagedTree(root);
    const folder = "usr/share/gatehouse/agents";
    await buildRepository({ packages, version, time, privateKey, tree, folder });
    await writeDocuments(tree, { name, version, time, workspace, included: [], programs: [] });
    return await buildDeb(tree, {
      control: {
        name,
        version,
        architecture: "all",
        section: "net",
        depends: [],
        recommends: ["gatehouse"],
        summary: "agents that a Gatehouse server offers to its machines",
        description: [
          "Machines install and upgrade their gateway and device agents with apt, from the server itself. This package contains the signed repository that the server offers at /apt/.",
        ],
      },
      scripts: {},
      time,
      // The packages in the repository are compressed already.
      compression: 0,
      output,
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
