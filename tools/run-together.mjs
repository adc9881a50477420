/**
 * Runs npm scripts at the same time: `node tools/run-together.mjs SCRIPT…`. Prints the output of each when it ends.
 * Fails if one of them fails.
 */
import { execFile } from "node:child_process";

await Promise.all(process.argv.slice(2).map(run));

/** @param {string} script */
function run(script) {
  const started = performance.now();
  return new Promise((resolve) => {
    execFile("npm", ["run", "--silent", script], { maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      if (error !== null) process.exitCode = 1;
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(`${stdout}${stderr}${script}: ${error === null ? "passed" : "failed"} after ${seconds} s`);
      resolve(undefined);
    });
  });
}
