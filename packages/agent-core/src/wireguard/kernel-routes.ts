/** Routes in the output of `ip -json route show`. */
import { ProgramFailure, type ProgramRunner } from "../system/program-runner.ts";

export type Family = "-4" | "-6";

export interface KernelRoute {
  /** An address, a block, or `default`. */
  readonly dst: string;
  /** Absent for routes that drop packets, and for routes with several next hops. */
  readonly dev?: string;
  readonly nexthops?: readonly { readonly dev?: string }[];
}

/** @param selector the arguments of `ip route show` */
export async function kernelRoutes(
  programs: ProgramRunner,
  family: Family,
  selector: readonly string[],
): Promise<readonly KernelRoute[]> {
  let output: string;
  try {
    output = await programs.read("ip", ["-json", family, "route", "show", ...selector]);
  } catch (error) {
    // The command fails for a table without routes.
    if (error instanceof ProgramFailure && error.message.includes("table does not exist")) return [];
    throw error;
  }
  return jsonList(output) as KernelRoute[]; // the JSON output of ip
}

/** Returns the list in the output of `ip -json`. */
export function jsonList(output: string): unknown[] {
  const value: unknown = output.trim() === "" ? [] : JSON.parse(output);
  return Array.isArray(value) ? value : [];
}
