import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "@gatehouse/agent-core/clock";
import { isSigningKey } from "@gatehouse/agent-core/crypto/signatures";
import { standardErrorLog } from "@gatehouse/agent-core/log";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import { checkRights } from "@gatehouse/agent-core/state/private-file";
import { ServiceManager } from "@gatehouse/agent-core/system/service-manager";
import { type ComposedAgent, composeAgent, interfaceNamePattern } from "./compose.ts";
import { StateFolder } from "./configuration/state-folder.ts";
import { validateConfiguration } from "./configuration/validate-configuration.ts";
import { dryRun } from "./dry-run.ts";
import { GatewayLink } from "./link/gateway-link.ts";
import { reconnectOnChange } from "./link/reconnect-on-change.ts";

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

const help = `Usage: gatehouse-gateway --url URL --token-file FILE [options]
       gatehouse-gateway --configuration FILE --signing-key KEY [options]
       gatehouse-gateway --replace-key [--state-folder PATH]

Enforces the access policies of a Gatehouse control plane with WireGuard and nftables. Requires Linux.

  --url URL              URL of the control plane, such as https://gatehouse.example.com
  --token-file FILE      file with the gateway's token
  --configuration FILE   enforce this signed configuration without a control plane
  --signing-key KEY      the tenant's signing key, base64; required once if there is no control plane
  --interface NAME       name of the WireGuard interface (default gatehouse0)
  --state-folder PATH    folder for keys and the last configuration (default /var/lib/gatehouse-gateway)
  --runtime-folder PATH  folder in memory for a copy of the last configuration (default /run/gatehouse-gateway)
  --keep-source          do not masquerade devices; the site needs a route back to their addresses
  --replace-key          replace the WireGuard key of the stopped agent, and keep the former one to prove it
  --dry-run              print the commands for --configuration without running them
  --help                 show this help
`;

/** The version that the agent reports to the control plane. */
const agentVersion = "0.1.0";

/** The command line is invalid. Nothing was done. */
class UsageError extends Error {}

/**
 * Runs one command line.
 *
 * @param args the arguments after the command's name
 * @returns the exit code. Errors are written to standard error
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options.help) process.stdout.write(help);
    else if (options.replacesKey) await replaceKey(options);
    else if (options.dryRun) await printDryRun(options);
    else await serve(options);
    return exitCodes.ok;
  } catch (error) {
    standardErrorLog(error instanceof Error ? error.message : String(error));
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
  }
}

interface Options {
  readonly configuration: string | undefined;
  readonly signingKey: string | undefined;
  readonly interfaceName: string;
  readonly stateFolder: string;
  readonly runtimeFolder: string;
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
  readonly keepsSource: boolean;
  readonly replacesKey: boolean;
  readonly dryRun: boolean;
  readonly help: boolean;
}

async function serve({
  configuration,
  signingKey,
  interfaceName,
  stateFolder,
  runtimeFolder,
  keepsSource,
  url,
  tokenFile,
}: Options): Promise<void> {
  const composed = composeAgent({
    interfaceName,
    stateFolder,
    runtimeFolder,
    keepsSource,
    controlPlaneUrl: url,
    log: standardErrorLog,
  });
  // This creates the folder.
  await composed.folder.publicKey();
  await checkRights(stateFolder, composed.folder.privateKeyFile);
  await lockFolder(stateFolder, () => composed.agent.performed());
  await composed.checkInterface();
  await composed.agent.start(signingKey);
  if (configuration !== undefined) {
    const outcome = await composed.agent.applyConfiguration(await readJson(configuration));
    if (outcome.state === "failed" && composed.agent.content === undefined) throw new Error(outcome.message);
  }
  const service = new ServiceManager({
    environment: process.env,
    pid: process.pid,
    clock: systemClock,
    log: standardErrorLog,
  });
  await service.ready(() => composed.agent.performed());
  const link = url === undefined || tokenFile === undefined ? undefined : await openLink(composed, url, tokenFile);
  await new Promise<void>((resolveStopped) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolveStopped());
  });
  await service.stop();
  link?.stop();
  await composed.stop();
}

/** Opens the link. Enforcement does not depend on it. */
async function openLink({ agent, folder }: ComposedAgent, url: string, tokenFile: string): Promise<GatewayLink> {
  const { trust, configuration } = agent;
  const link = new GatewayLink({
    url,
    token: () => readFile(tokenFile, "utf8"),
    agent,
    state: { trust, configuration },
    keys: await folder.keys(),
    agentVersion,
    clock: systemClock,
    log: standardErrorLog,
  });
  reconnectOnChange(link, agent);
  link.start();
  return link;
}

/** @throws Error if the agent is running */
async function replaceKey({ stateFolder }: Options): Promise<void> {
  const publicKey = await new StateFolder(stateFolder).replaceKey();
  process.stdout.write(`The new public key is ${publicKey}. Start the agent.\n`);
}

async function printDryRun({ configuration, interfaceName, keepsSource }: Options): Promise<void> {
  if (configuration === undefined) throw new UsageError("--dry-run requires --configuration.");
  const checked = validateConfiguration(await readJson(configuration));
  if ("problem" in checked) throw new Error(`The configuration does not match the schema: ${checked.problem}`);
  await dryRun(
    checked.configuration,
    { interfaceName, keepsSource },
    Date.now(),
    (text) => void process.stdout.write(text),
  );
}

function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const isComplete =
    values["replace-key"] === true ||
    values.configuration !== undefined ||
    (values.url !== undefined && values["token-file"] !== undefined);
  if (values.help !== true && !isComplete) {
    throw new UsageError("Use --url and --token-file, or --configuration. See gatehouse-gateway --help.");
  }
  const interfaceName = values.interface ?? "gatehouse0";
  if (!interfaceNamePattern.test(interfaceName)) {
    throw new UsageError(
      `--interface ${JSON.stringify(interfaceName)} is invalid. Use a letter, then letters and digits, at most 15.`,
    );
  }
  if (values.url !== undefined && !isCallable(values.url)) {
    // The message omits the URL, which may contain a password.
    throw new UsageError(
      "--url must be a URL such as https://gatehouse.example.com, without user name, password, ? and #.",
    );
  }
  const signingKey = values["signing-key"];
  if (signingKey !== undefined && !isSigningKey(signingKey)) {
    throw new UsageError("--signing-key is not an Ed25519 key. Use 32 bytes in base64.");
  }
  return {
    configuration: values.configuration,
    signingKey,
    interfaceName,
    stateFolder: resolve(values["state-folder"] ?? "/var/lib/gatehouse-gateway"),
    runtimeFolder: resolve(values["runtime-folder"] ?? "/run/gatehouse-gateway"),
    url: values.url,
    tokenFile: values["token-file"],
    keepsSource: values["keep-source"] === true,
    replacesKey: values["replace-key"] === true,
    dryRun: values["dry-run"] === true,
    help: values.help === true,
  };
}

function isCallable(url: string): boolean {
  return /^https?:\/\/[^@?#]+$/.test(url) && URL.canParse(url);
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = {
    url: text,
    "token-file": text,
    configuration: text,
    "signing-key": text,
    interface: text,
    "state-folder": text,
    "runtime-folder": text,
    "keep-source": flag,
    "replace-key": flag,
    "dry-run": flag,
    help: flag,
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}. See gatehouse-gateway --help.`);
  }
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8");
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${path} is not valid JSON.`);
  }
}
