import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Runs a development tool of the repository.
 *
 * @param tool its command as linked by npm
 * @returns its output, even if it reports violations and exits with another code than 0
 */
export function runTool(tool: string, options: readonly string[], cwd: string): Promise<string> {
  const command = path.join(root, "node_modules/.bin", tool);
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [command, ...options], { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null && stdout === "") reject(new Error(`${tool} printed nothing: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}
