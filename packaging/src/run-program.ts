import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import path from "node:path";

interface RunOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. @returns its standard output. @throws Error with its output, if it fails */
export function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, environment } = options;
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { cwd, env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 ** 2 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${program} ${args.join(" ")} failed: ${error.message}\n${stdout}${stderr}`));
      },
    );
  });
}

/** @throws Error if a program is not in PATH */
export async function requirePrograms(...names: readonly string[]): Promise<void> {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  for (const name of names) {
    const found = folders.map((folder) => access(path.join(folder, name), constants.X_OK));
    await Promise.any(found).catch(() => {
      throw new Error(`The program ${name} is missing. Install it first.`);
    });
  }
}
