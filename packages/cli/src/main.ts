/** The `gatehouse` command. */
import { createProgram } from "./program.ts";
import { run } from "./run.ts";

// Writers handle their own failures. Without these listeners, an error would end the process with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

process.exitCode = await run(createProgram, process.argv.slice(2));
