import { readFile } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "./run-program.ts";

/** The version in the workspace's package.json. */
export async function releaseVersion(workspace: string): Promise<string> {
  const description: unknown = JSON.parse(await readFile(path.join(workspace, "package.json"), "utf8"));
  if (typeof description === "object" && description !== null && "version" in description) {
    return String(description.version);
  }
  throw new Error("package.json has no version.");
}

/** The time of all files in artefacts, in seconds since 1970: SOURCE_DATE_EPOCH, or the time of the last commit. */
export async function releaseTime(workspace: string): Promise<number> {
  const given = process.env.SOURCE_DATE_EPOCH;
  const text = given ?? (await runProgram("git", ["log", "-1", "--format=%ct"], { cwd: workspace }));
  if (!/^[0-9]{1,12}\s*$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, not ${text}.`);
  return Number(text);
}
