/** A gateway that is deployed with the command that the console shows: the real end of the link, without a kernel. */
import { execFile } from "node:child_process";
import { access, chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { generatedKeys } from "@gatehouse/agent-core/testing/generated-keys";
import { expect, vi } from "vitest";
import { systemClock } from "../../packages/agent-core/src/clock.ts";
import { GatewayLink } from "../../packages/gateway/src/link/gateway-link.ts";
import { run } from "../../packages/gateway/src/run.ts";
import { HoldingAgent } from "../end-to-end/holding-agent.ts";

export interface DeployedGateway {
  readonly agent: HoldingAgent;
  stop(): Promise<void>;
}

/**
 * Runs the command for a checkout in a shell whose `sudo` reports its arguments, and connects like the program that the
 * command starts. The test server has no packages of agents. The packages' tests run the script that installs them.
 */
export async function deployGateway(command: string): Promise<DeployedGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-deployed-"));
  const report = `printf '%s\\n' "$@"`;
  const sudo = path.join(folder, "sudo");
  await writeFile(sudo, `#!/bin/sh\n${report}\n`);
  await chmod(sudo, 0o755);
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command], {
    cwd: folder,
    env: { PATH: `${folder}:${path.dirname(process.execPath)}:/usr/bin:/bin` },
  });
  const [, , settings = "", node = "", program = "", ...args] = stdout.trimEnd().split("\n");
  const [, url = "", , file = ""] = args;
  expect(args).toEqual(["--url", url, "--token-file", file]);
  expect(path.basename(node)).toBe("node");
  for (const named of [settings, program]) await access(new URL(`../../${named}`, import.meta.url));
  // The real program accepts this command line.
  const output = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  expect(await run([...args, "--help"])).toBe(0);
  output.mockRestore();
  const tokenFile = path.resolve(folder, file);
  expect((await stat(tokenFile)).mode & 0o077).toBe(0);
  const gateway = connectGateway(url, () => readFile(tokenFile, "utf8"));
  return {
    agent: gateway.agent,
    async stop() {
      await gateway.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @param token read for each connection */
export function connectGateway(url: string, token: () => Promise<string>): DeployedGateway {
  const agent = new HoldingAgent();
  const link = new GatewayLink({
    url,
    token,
    agent,
    state: {},
    keys: generatedKeys(),
    agentVersion: "0.1.0",
    clock: systemClock,
    log: () => undefined,
    random: () => 0,
  });
  link.start();
  return { agent, stop: async () => link.stop() };
}
