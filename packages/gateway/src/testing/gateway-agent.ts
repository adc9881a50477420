/**
 * An agent in its own process, for tests in a network namespace. Each line of JSON on standard input is an order, and
 * gets one line of JSON on standard output.
 */
import { createInterface } from "node:readline";
import { composeAgent } from "../compose.ts";

const [interfaceName = "", stateFolder = "", signingKey] = process.argv.slice(2);
const { agent, folder, stop } = composeAgent({
  interfaceName,
  stateFolder,
  keepsSource: false,
  log: (message) => void process.stderr.write(`${message}\n`),
});
const answer = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);

await agent.start(signingKey);
answer({ publicKey: await folder.publicKey(), enforces: agent.enforces ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const { apply, report } = JSON.parse(line) as { apply?: unknown; report?: true };
  if (apply !== undefined) answer(await agent.applyConfiguration(apply));
  if (report === true) answer(await agent.report());
}
await stop();
