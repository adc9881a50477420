/**
 * An agent in its own process, for tests in a network namespace. Each line of JSON on standard input is an order, and
 * gets one line of JSON on standard output.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type ProgramRunner, systemPrograms } from "@gatehouse/agent-core/system/program-runner";
import { composeAgent } from "../compose.ts";

/** The number of starts of each program. */
const started: Record<string, number> = {};
const counted = (program: string) => {
  started[program] = (started[program] ?? 0) + 1;
};
const programs: ProgramRunner = {
  read: (program, ...rest) => {
    counted(program);
    return systemPrograms.read(program, ...rest);
  },
  change: (program, ...rest) => {
    counted(program);
    return systemPrograms.change(program, ...rest);
  },
  start: systemPrograms.start,
};

/** The processor time of the agent and of the programs that it has run, in seconds. */
function processorSeconds(): number {
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(/\) (?!.*\) )/s);
  const times = fields.split(" ").slice(11, 15).map(Number);
  return times.reduce((sum, hundredths) => sum + hundredths / 100, 0);
}

const [interfaceName = "", stateFolder = "", runtimeFolder = "", signingKey] = process.argv.slice(2);
const { agent, folder, checkInterface, stop } = composeAgent({
  interfaceName,
  stateFolder,
  runtimeFolder,
  keepsSource: false,
  programs,
  log: (message) => void process.stderr.write(`${message}\n`),
});
const answer = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);

await folder.publicKey();
await checkInterface();
await agent.start(signingKey);
answer({ publicKey: await folder.publicKey(), enforces: agent.enforces ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const { apply, report } = JSON.parse(line) as { apply?: unknown; report?: true };
  if (apply !== undefined) answer(await agent.applyConfiguration(apply));
  if (report === true) answer({ ...(await agent.report()), started, processorSeconds: processorSeconds() });
}
await stop();
