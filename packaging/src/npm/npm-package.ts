/** A package for the npm registry, which `npm publish` takes as it is. */
import type { Application } from "../application.ts";

export interface NpmPackage {
  /** Folder of the workspace's package. */
  readonly folder: string;
  /** Name of the archive, without its version. */
  readonly archive: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly application: Application;
  /** Whether other programs import modules of the package, so that it contains type declarations. */
  readonly isLibrary: boolean;
}
