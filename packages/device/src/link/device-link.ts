/**
 * The device's end of the link over a WebSocket: the machine of the contract (`device-link/device-agent-link.ts`) with a socket, a clock and a
 * tunnel. What the link brings, the agent verifies again.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import { FrameSocket } from "@gatehouse/agent-core/link/frame-socket";
import { clockWarning, nothingHeard } from "@gatehouse/agent-core/link/link-messages";
import type { Log } from "@gatehouse/agent-core/log";
import {
  type DeviceAgentLink,
  type DeviceAgentLinkEvent,
  type DeviceAgentLinkFunctions,
  newDeviceAgentLink,
  stepDeviceAgentLink,
} from "@gatehouse/agent-protocol/device/agent-link";
import {
  deviceConfigurationFormat,
  type SignedDeviceConfiguration,
} from "@gatehouse/agent-protocol/device/configuration";
import type { UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceGoodbye,
  type DeviceHeartbeat,
  type DeviceWelcome,
  deviceLinkPath,
  deviceLinkSubprotocol,
  deviceServerFrames,
} from "@gatehouse/agent-protocol/device/frames";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { type HeartbeatAnswer, heartbeatIntervalMs, heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { isDeviceConfiguration, unreadConfiguration } from "../configuration/check-device-configuration.ts";
import type { DeviceTrust } from "../configuration/device-folder.ts";
import type { DeviceOutcome } from "../device-agent.ts";

/** What the link needs of the agent. */
export interface LinkedDevice {
  applyConfiguration(given: UnreadConfiguration): Promise<DeviceOutcome>;
  trust(tenant: string, signingKey: string): Promise<void>;
  report(): Promise<DeviceHeartbeat["gateways"]>;
}

export interface DeviceLinkOptions {
  /** `https://…` of the control plane; `http://` only where nothing but this machine is in between. */
  readonly url: string;
  readonly token: () => Promise<string>;
  /** The id that this is enrolled as. */
  readonly device: string;
  readonly agent: LinkedDevice;
  /** What is in use from before, and whom it trusts. */
  readonly kept: { readonly trust: DeviceTrust | undefined; readonly used: SignedDeviceConfiguration | undefined };
  /** Of the WireGuard interface, base64. */
  readonly publicKey: string;
  readonly agentVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

/** A configuration whose content nobody has looked at: the machine asks for its form when it is its turn. */
interface UnreadConfigure {
  readonly type: "configuration";
  readonly configuration: UnreadConfiguration;
}
type Heard = DeviceWelcome | UnreadConfigure | HeartbeatAnswer | DeviceGoodbye;

const configureFrame = {
  type: "object",
  additionalProperties: false,
  required: ["type", "configuration"],
  properties: { type: { const: "configuration" }, configuration: unreadConfiguration },
} as const;

const alarms = {
  signing_key:
    "The control plane has another signing key than the pinned one; nothing that it sends is used. If it was set up anew, enrol this device again.",
  tenant:
    "The control plane says that this device belongs to another tenant than before; nothing that it sends is used.",
  device: "The control plane takes this device for another one: its token is not the one it was enrolled with.",
} as const;

/** What a person can do about the end of a link. */
const remedies: Partial<Record<DeviceGoodbye["reason"], string>> = {
  token_revoked: "The token was replaced: enrol the device again.",
  device_gone: "The device was deleted: enrol it again.",
  replaced: "Another agent is connected with the token of this one.",
  other_key: "The public key is not the one that the device was enrolled with: enrol it again.",
};

export class DeviceLink {
  readonly #options: DeviceLinkOptions;
  readonly #functions: DeviceAgentLinkFunctions;
  readonly #socket: FrameSocket<Heard>;
  #link: DeviceAgentLink;
  #cancelWait: (() => void) | undefined;
  #cancelBeat: (() => void) | undefined;
  #heartbeatMs = heartbeatIntervalMs;
  #sequence = 0;
  #heardAt = 0;
  /** Until the key is kept, nothing that it signed can be verified. */
  #pinned: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: DeviceLinkOptions) {
    const { clock, kept, device, random = Math.random } = options;
    const { trust, used } = kept;
    this.#options = options;
    this.#functions = { sha256, verify: isSignedBy, hasForm: isDeviceConfiguration, now: () => clock.now(), random };
    this.#link = newDeviceAgentLink(device, {
      ...trust,
      used: used === undefined ? undefined : { configuration: used, name: configurationName(used.header, sha256) },
    });
    this.#socket = new FrameSocket({
      url: options.url,
      path: deviceLinkPath,
      subprotocol: deviceLinkSubprotocol,
      frames: { ...deviceServerFrames, configuration: configureFrame },
      token: options.token,
      tokenRemedy: "The device was deleted, or has another token since: enrol it again.",
      log: options.log,
      connected: () => {
        this.#heardAt = clock.now();
        this.#step({ type: "connected" });
        this.#beat();
      },
      heard: (message) => this.#heard(message),
      violated: () => this.#step({ type: "overdue" }),
      cut: () => {
        this.#cancelBeat?.();
        this.#step({ type: "cut" });
      },
    });
  }

  /** Connects, and again whenever the link is lost, until it is stopped. */
  start(): void {
    this.#step({ type: "retry" });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelWait?.();
    this.#cancelBeat?.();
    this.#socket.stop();
  }

  /** What was in use is not any more. */
  expired(): void {
    this.#step({ type: "expired" });
  }

  #step(event: DeviceAgentLinkEvent): void {
    const { link, outputs } = stepDeviceAgentLink(this.#link, event, this.#functions);
    this.#link = link;
    for (const output of outputs) {
      switch (output.do) {
        case "connect":
          void this.#socket.connect();
          break;
        case "hello": {
          const { publicKey, agentVersion } = this.#options;
          const { uses } = output;
          this.#socket.say({ type: "hello", agentVersion, publicKey, uses, format: deviceConfigurationFormat });
          break;
        }
        case "send":
          this.#socket.say(output.message);
          break;
        case "apply":
          void this.#apply(output.configuration.configuration);
          break;
        case "pin":
          this.#pinned = this.#pin(output.tenant, output.signingKey);
          break;
        case "alarm":
          this.#options.log(alarms[output.about]);
          break;
        case "close":
          this.#cancelBeat?.();
          this.#socket.leave();
          break;
        case "wait":
          this.#wait(output.delayMs);
          break;
      }
    }
  }

  #heard(message: Heard): void {
    const { clock, log } = this.#options;
    this.#heardAt = clock.now();
    switch (message.type) {
      case "welcome":
        this.#step({ type: "welcome", message });
        if (this.#link.phase !== "open") break;
        this.#warnOfClock(message.now);
        this.#heartbeatMs = message.heartbeatIntervalMs;
        this.#beat();
        break;
      case "configuration":
        this.#step({ type: "configuration", configuration: message.configuration });
        break;
      case "heartbeat-answer":
        break;
      case "goodbye":
        log(`The control plane ended the link: ${message.reason}. ${remedies[message.reason] ?? ""}`.trim());
        this.#step({ type: "goodbye", message });
        break;
    }
  }

  #warnOfClock(theirs: number): void {
    const warning = clockWarning(theirs, this.#options.clock.now());
    if (warning !== undefined) this.#options.log(warning);
  }

  async #apply(configuration: SignedDeviceConfiguration): Promise<void> {
    await this.#pinned;
    const outcome = await this.#options.agent.applyConfiguration(configuration);
    this.#step(outcome.state === "applied" ? { type: "applied" } : { type: "failed", message: outcome.message });
  }

  async #pin(tenant: string, signingKey: string): Promise<void> {
    try {
      await this.#options.agent.trust(tenant, signingKey);
    } catch (error) {
      this.#options.log(String(error));
      this.#step({ type: "overdue" });
    }
  }

  /** Heartbeats once the link is open; before, only whether anything is heard at all. */
  #beat(): void {
    const { clock, log } = this.#options;
    this.#cancelBeat?.();
    if (this.#isStopped || this.#socket.connection === undefined) return;
    // Where the clock was set back, it counts from there.
    this.#heardAt = Math.min(this.#heardAt, clock.now());
    if (clock.now() - this.#heardAt > heartbeatTimeoutMs) {
      log(nothingHeard);
      this.#step({ type: "overdue" });
      return;
    }
    if (this.#link.phase === "open") void this.#sayHeartbeat();
    this.#cancelBeat = clock.after(this.#heartbeatMs, () => this.#beat());
  }

  async #sayHeartbeat(): Promise<void> {
    const { agent, log } = this.#options;
    const { connection } = this.#socket;
    const gateways = await agent.report().catch((error: unknown) => {
      log(`The state of the tunnel cannot be read: ${String(error)}`);
      return [];
    });
    if (connection !== this.#socket.connection) return;
    this.#sequence += 1;
    this.#socket.say({ type: "heartbeat", sequence: this.#sequence, gateways });
  }

  #wait(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(delayMs, () => this.#step({ type: "retry" }));
  }
}
