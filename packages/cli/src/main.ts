/** The `gatehouse` command. */
import { run } from "./run.ts";

// Whoever writes is told when it fails, and says so; unheard, these would end the process with a stack trace.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

process.exitCode = await run(process.argv.slice(2));
