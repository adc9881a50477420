/** A program that is distributed: its code, its place on a machine, and its service. */
import type { Application } from "../application.ts";
import type { DebControl } from "../debian/build-deb.ts";
import type { ServicePlan } from "../debian/maintainer-scripts.ts";
import type { CommandHelp } from "../pages/command-help.ts";

export interface Artefact extends Pick<DebControl, "section" | "recommends" | "summary" | "description"> {
  /** Name of the package and of the command. */
  readonly name: string;
  /** Whether servers offer the package to other machines. */
  readonly isAgent: boolean;
  /** The container image, with packages of Debian that it needs, or undefined. */
  readonly image: { readonly includes: readonly string[] } | undefined;
  readonly application: Application;
  /** Module that the command runs. */
  readonly main: string;
  /** Options of Node.js. */
  readonly nodeOptions: readonly string[];
  /** Settings that the command reads if its user may: a file with NAME=value lines. */
  readonly environmentFile: string | undefined;
  readonly includesPostgres: boolean;
  /** Debian packages besides the libraries of Node.js. */
  readonly depends: readonly string[];
  readonly service: ServicePlan;
  /** Files besides the application: the path on the machine, and its content or its source in the workspace. */
  readonly files: readonly ArtefactFile[];
  /** Files that the manual page describes. */
  readonly manualFiles: readonly { readonly path: string; readonly description: string }[];
  readonly seeAlso: readonly string[];
  /** The command's help. @param workspace the built workspace */
  help(workspace: string): Promise<CommandHelp>;
}

export type ArtefactFile = { readonly path: string; readonly mode?: number } & (
  | { readonly content: string }
  | { readonly source: string }
);
