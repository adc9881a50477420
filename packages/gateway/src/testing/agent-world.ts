/** An agent with a kernel that only records, on the test's clock. Tests with real packets are in test/enforcement. */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { formatLogLine } from "@gatehouse/agent-core/log";
import { RuntimeFolder } from "@gatehouse/agent-core/state/runtime-folder";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  Membership,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { Agent } from "../agent.ts";
import { RuntimeCopy } from "../configuration/runtime-copy.ts";
import { StateFolder } from "../configuration/state-folder.ts";
import { AnswerFilter } from "../names/answer-filter.ts";
import { EndpointHosts } from "../names/endpoint-hosts.ts";
import { LearnedNames } from "../names/learned-names.ts";
import { ConfigurationSigner } from "./configuration-signer.ts";
import { exampleConfiguration } from "./example-configuration.ts";
import { RecordingKernel } from "./recording-kernel.ts";

export const gateway = randomUUID();
export const device = "100.64.0.1";
export const minuteMs = 60_000;

/** The example configuration, with a device in the class that has access. */
export function content(membership: Membership = true): ConfigurationContent {
  return { ...exampleConfiguration().content, classes: { staff: { [device]: membership } } };
}

/** Returns the devices that may pass now. */
export function passing({ filters }: RecordingKernel): readonly string[] {
  const classes = [...(filters?.sets ?? [])].filter(([name]) => name.startsWith("class_") && name.endsWith("_4"));
  return classes.flatMap(([, { elements }]) => [...elements.keys()]);
}

export function isClosed({ filters }: RecordingKernel): boolean {
  return filters !== undefined && filters.sets.size === 0;
}

/** The machine of a gateway, whose agents start one after the other. */
export class AgentWorld {
  readonly #running: Agent[] = [];
  /** The path of the state folder. */
  readonly state: string;
  /** The path of the runtime folder. */
  readonly runtime: string;
  readonly signer = new ConfigurationSigner();
  readonly clock = new StoppedClock();
  readonly log: string[] = [];

  constructor(state: string) {
    this.state = state;
    this.runtime = path.join(path.dirname(state), "run");
  }

  /** Starts an agent, on a new machine or on one with the state of an earlier agent. */
  async start(kernel = new RecordingKernel(), warnings: readonly string[] = []) {
    const agent = this.#newAgent(kernel, warnings);
    await agent.start(this.signer.signingKey);
    return { agent, kernel };
  }

  /** Starts an agent without a key to pin. */
  async startUnpinned() {
    const kernel = new RecordingKernel();
    const agent = this.#newAgent(kernel);
    await agent.start();
    return { agent, kernel };
  }

  #newAgent(kernel: RecordingKernel, warnings: readonly string[] = []): Agent {
    const { wireGuard } = kernel;
    const agent = new Agent({
      kernel,
      wireGuard,
      forwarding: { interfaceName: wireGuard.name, keepsSource: false },
      folder: new StateFolder(this.state),
      copy: new RuntimeCopy(new RuntimeFolder(this.runtime)),
      names: new LearnedNames(),
      filter: new AnswerFilter({ own: () => [], controlPlane: () => [] }),
      hosts: new EndpointHosts(new HostResolver(this.clock)),
      warnings: () => warnings,
      clock: this.clock,
      log: (message, fields) => void this.log.push(formatLogLine(message, fields)),
    });
    this.#running.push(agent);
    return agent;
  }

  signed(of: ConfigurationContent, changes: Partial<ConfigurationHeader> = {}) {
    const { clock } = this;
    return this.signer.signed(gateway, of, {
      issuedAt: clock.now(),
      expiresAt: clock.now() + 60 * minuteMs,
      ...changes,
    });
  }

  /** Makes the state folder unavailable for writing, like a full disk. */
  async fillDisk(): Promise<void> {
    await rename(this.state, `${this.state}.full`);
  }

  async emptyDisk(): Promise<void> {
    await rename(`${this.state}.full`, this.state);
  }

  /** Replaces the runtime folder with a file, so that it cannot be used. */
  async blockRuntimeFolder(): Promise<void> {
    await rename(this.runtime, `${this.runtime}.away`);
    await writeFile(this.runtime, "");
  }

  /** Returns the content of a file in the state folder. */
  stored(file: "configuration.json" | "trust.json"): Promise<string> {
    return readFile(path.join(this.state, file), "utf8");
  }

  /** Passes time, and waits for the work of the timers: the queue answers a later request after it. */
  async pass(agent: Agent, ms: number) {
    this.clock.pass(ms);
    await agent.applyConfiguration("nothing");
  }

  /** Stops all agents, and deletes the state folder. */
  async stop() {
    for (const agent of this.#running.splice(0)) await agent.stop();
    await rm(path.dirname(this.state), { recursive: true, force: true });
  }
}

/** Creates a machine without state. */
export async function newAgentWorld(): Promise<AgentWorld> {
  return new AgentWorld(path.join(await mkdtemp(path.join(tmpdir(), "gatehouse-agent-")), "state"));
}
