/** The folder of a run of this project, with everything that its test files share. It is removed after the run. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder for what test files build once and share. */
    packagesFolder: string;
  }
}

let folder: string | undefined;

export async function setup(project: TestProject): Promise<void> {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-packages-"));
  project.provide("packagesFolder", folder);
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
