/** The device's link over a WebSocket. */

import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import { LinkClient, type LinkClientKind, type LinkClientOptions } from "@gatehouse/agent-core/link/link-client";
import type { AgentKeys } from "@gatehouse/agent-core/wireguard/wireguard-key";
import { deviceAgentLink, usedConfiguration } from "@gatehouse/agent-protocol/device/agent-link";
import {
  deviceConfigurationFormat,
  type SignedDeviceConfiguration,
} from "@gatehouse/agent-protocol/device/configuration";
import type { UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceAnswer,
  type DeviceFailureReason,
  type DeviceGoodbye,
  type DeviceHeartbeat,
  deviceLinkPath,
  deviceLinkSubprotocols,
  deviceQuestionsVersion,
  deviceServerFrames,
} from "@gatehouse/agent-protocol/device/frames";
import { newAgentLink } from "@gatehouse/agent-protocol/link/agent-link";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { linkVersionOf } from "@gatehouse/agent-protocol/link/greeting";
import type { SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { DeviceTrust } from "../configuration/device-folder.ts";
import { isDeviceConfiguration, unreadConfiguration } from "../configuration/validate-device-configuration.ts";
import type { DeviceOutcome } from "../device-agent.ts";
import { OpenQuestions } from "./open-questions.ts";

/** The agent's methods that the link calls. */
export interface LinkedDevice {
  applyConfiguration(given: UnreadConfiguration): Promise<DeviceOutcome>;
  trust(tenant: string, signingKey: string, handovers: readonly SigningKeyHandover[]): Promise<void>;
  report(): Promise<DeviceHeartbeat["gateways"]>;
}

export interface DeviceLinkOptions extends LinkClientOptions {
  /** The id that this machine is enrolled as. */
  readonly device: string;
  readonly agent: LinkedDevice;
  /** The state that the agent persisted: the pinned identity and the configuration in use. */
  readonly state: { readonly trust: DeviceTrust | undefined; readonly used: SignedDeviceConfiguration | undefined };
  /** The keys of the WireGuard interface. */
  readonly keys: AgentKeys;
  readonly agentVersion: string;
}

/** A frame whose content has not been validated: the machine validates it after the signature. */
interface UnreadConfigure {
  readonly type: "configuration";
  readonly configuration: UnreadConfiguration;
}

const configureFrame = {
  type: "object",
  additionalProperties: false,
  required: ["type", "configuration"],
  properties: { type: { const: "configuration" }, configuration: unreadConfiguration },
} as const;

const remedies: Partial<Record<DeviceGoodbye["reason"], string>> = {
  token_revoked: "The token was replaced. Enrol the device again.",
  device_gone: "The device was deleted. Enrol it again.",
  replaced: "Another agent is connected with this device's token. Stop one of them.",
  other_key:
    "The control plane refused the WireGuard key. If the key is new, reset the device's key in Gatehouse. If the agent is older than before, update it. Otherwise, enrol the device again.",
};

type Report = DeviceHeartbeat["gateways"];
type Reason = Exclude<DeviceFailureReason, "not_applied">;

type Frame = UnreadConfigure | DeviceAnswer;

export class DeviceLink extends LinkClient<Frame, UnreadConfiguration, SignedDeviceConfiguration, Reason, Report> {
  readonly #questions: OpenQuestions;

  constructor(options: DeviceLinkOptions) {
    const { trust, used } = options.state;
    const enforced =
      used === undefined ? undefined : { configuration: used, name: configurationName(used.header, sha256) };
    const questions = new OpenQuestions(options.clock);
    const kind = deviceKind(options, (answer) => questions.answered(answer));
    super(kind, newAgentLink({ ...trust, agent: options.device, enforced }), options);
    this.#questions = questions;
  }

  /**
   * Asks the control plane whether this device can reach something, and why not.
   *
   * @param to name or id of a resource, a host name, or an IP address
   * @returns undefined if the control plane is not connected, does not answer, or does not support questions
   */
  async ask(to: string): Promise<DeviceAnswer | undefined> {
    if (!this.isOpen || linkVersionOf(this.subprotocol ?? "") < deviceQuestionsVersion) return undefined;
    return this.#questions.ask((number) => this.say({ type: "question", number, to }));
  }
}

function deviceKind(
  { agent, keys, agentVersion }: DeviceLinkOptions,
  answered: (answer: DeviceAnswer) => void,
): LinkClientKind<Frame, UnreadConfiguration, SignedDeviceConfiguration, Reason, Report> {
  return {
    path: deviceLinkPath,
    subprotocols: deviceLinkSubprotocols,
    frames: { ...deviceServerFrames, configuration: configureFrame },
    tokenRemedy: "The device was deleted, or its token was replaced. Enrol it again.",
    step: deviceAgentLink({ sha256, verify: isSignedBy, hasForm: isDeviceConfiguration }),
    messageIn: (frame) => {
      if (frame.type === "configuration") return frame.configuration;
      answered(frame);
      return undefined;
    },
    hello: (enforced, latest) => {
      const uses = usedConfiguration(enforced, latest);
      return { type: "hello", agentVersion, publicKey: keys.publicKey, uses, format: deviceConfigurationFormat };
    },
    prove: (challenge) => keys.prove("device", challenge),
    keys,
    refusedKey: "other_key",
    apply: (configuration) => agent.applyConfiguration(configuration),
    pin: ({ tenant, signingKey, handovers = [] }) => {
      if (tenant === undefined) throw new Error("The control plane did not name its tenant.");
      return agent.trust(tenant, signingKey, handovers);
    },
    report: () => agent.report(),
    heartbeat: (gateways = []) => ({ gateways }),
    remedies,
    alarms: {
      signing_key: "If the control plane was set up again, enrol this device again.",
      tenant: "The control plane assigns this device to another tenant. Enrol the device again.",
      device: "The token belongs to another device. Enrol this device again.",
    },
  };
}
