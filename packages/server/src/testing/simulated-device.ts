import { usedConfiguration } from "@gatehouse/agent-protocol/device/agent-link";
import type { SignedDeviceConfiguration } from "@gatehouse/agent-protocol/device/configuration";
import { deviceConfigurationFault } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceAnswer,
  type DeviceFailureReason,
  type DeviceGoodbye,
  type DeviceHello,
  type DeviceMessage,
  type DeviceServerMessage,
  type DeviceWelcome,
  deviceLinkPath,
  deviceLinkSubprotocols,
} from "@gatehouse/agent-protocol/device/frames";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { Challenge } from "@gatehouse/agent-protocol/link/key-proof";
import {
  type DeviceConfiguration as Configuration,
  DeviceConfiguration,
} from "@gatehouse/contract/records/device-configuration";
import { compileCheck } from "../http/validation.ts";
import { isSignedBy, SimulatedAgent, type SimulatedKey, sha256 } from "./simulated-agent.ts";

const formFaults = compileCheck(DeviceConfiguration);

export interface SimulatedDeviceOptions {
  /** `http://…` of a replica. */
  readonly url: string;
  readonly deviceId: string;
  readonly token: string;
  publicKey: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A device's agent over a real socket, without WireGuard. It verifies configurations, and applies or refuses them. */
export class SimulatedDevice extends SimulatedAgent<DeviceMessage, DeviceServerMessage> {
  publicKey: string;
  readonly #options: SimulatedDeviceOptions;
  welcome: DeviceWelcome | undefined;
  /** The applied configuration. */
  uses: ConfigurationName | undefined;
  signed: SignedDeviceConfiguration | undefined;
  /** Decides what the device answers to a configuration; undefined: nothing. */
  verdict: (name: ConfigurationName) => "apply" | DeviceFailureReason | undefined = () => "apply";
  /** The number of configurations that the server sent. */
  sent = 0;
  /** Answers a challenge; tests replace it by hostile answers. */
  answerChallenge: (challenge: Challenge) => void = () => undefined;
  readonly challenges: Challenge[] = [];
  readonly goodbyes: DeviceGoodbye[] = [];
  /** The sequence numbers of answered heartbeats. */
  readonly answers: number[] = [];
  /** The answers to questions. */
  readonly explained: DeviceAnswer[] = [];

  constructor(options: SimulatedDeviceOptions) {
    super({ path: deviceLinkPath, subprotocol: deviceLinkSubprotocols[3] }, options.url, options.token);
    this.#options = options;
    this.publicKey = options.publicKey;
  }

  get content(): Configuration | undefined {
    return this.signed?.content;
  }

  /** @param key an address, a block or a name, as configurations write it @returns the gateway of its route */
  routeTo(key: string): string | undefined {
    return this.content?.gateways.find(({ allowedIps, names }) => [...allowedIps, ...names].includes(key))?.gateway;
  }

  /** Opens a connection and says hello. @returns the HTTP status if it was refused, otherwise 101 */
  async connect(hello: Partial<DeviceHello> = {}, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const status = await this.open(headers);
    if (status === 101) this.sendHello(hello);
    return status;
  }

  sendHello(hello: Partial<DeviceHello> = {}): void {
    const { publicKey, uses: latest, signed } = this;
    const { now = Date.now } = this.#options;
    const hasExpired = signed !== undefined && signed.header.expiresAt <= now();
    const uses = usedConfiguration(latest === undefined || hasExpired ? undefined : { name: latest }, latest);
    this.send({ type: "hello", agentVersion: "0.1.0", publicKey, uses, format: 1, ...hello });
  }

  heartbeat(): void {
    this.send({ type: "heartbeat", sequence: this.nextSequence(), gateways: [] });
  }

  /** @param to what the device wants to reach */
  question(to: string): void {
    this.send({ type: "question", number: this.nextSequence(), to });
  }

  /**
   * Uses the latest version of the protocol, or another one, and proves this key.
   *
   * @param former the key that it replaces
   */
  useKey(
    key: SimulatedKey,
    former?: SimulatedKey,
    subprotocol: (typeof deviceLinkSubprotocols)[number] = deviceLinkSubprotocols[0],
  ): void {
    this.endpoint = { path: deviceLinkPath, subprotocol };
    this.publicKey = key.publicKey;
    this.answerChallenge = (challenge) => {
      this.challenges.push(challenge);
      this.send(key.answer("device", challenge, former));
    };
  }

  protected received(message: DeviceServerMessage): void {
    if (message.type === "challenge") this.answerChallenge(message);
    else if (message.type === "welcome") this.welcome = message;
    else if (message.type === "goodbye") this.goodbyes.push(message);
    else if (message.type === "heartbeat-answer") this.answers.push(message.sequence);
    else if (message.type === "answer") this.explained.push(message);
    else this.#answer(message.configuration);
  }

  #answer(signed: SignedDeviceConfiguration): void {
    this.sent += 1;
    const configuration = configurationName(signed.header, sha256);
    const verdict = this.verdict(configuration);
    if (verdict === undefined) return;
    const reason = verdict === "apply" ? this.#apply(signed, configuration) : verdict;
    if (reason === undefined) this.send({ type: "applied", configuration });
    else this.send({ type: "failed", configuration, reason, message: `was told to say ${reason}` });
  }

  #apply(signed: SignedDeviceConfiguration, name: ConfigurationName): DeviceFailureReason | undefined {
    const { deviceId: device, now = Date.now } = this.#options;
    const { tenant, signingKey = "" } = this.welcome ?? {};
    const fault = deviceConfigurationFault(
      signed,
      { device, tenant, signingKey, latest: this.uses, now: now() },
      { sha256, verify: isSignedBy, hasForm: (content) => formFaults(content).length === 0 },
    );
    if (fault !== undefined) return fault;
    this.signed = signed;
    this.uses = name;
    return undefined;
  }
}
