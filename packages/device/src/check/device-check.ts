/**
 * Checks each step from the person to a target, and stops at the first broken one. The control plane decides; all other
 * steps are observed on this machine.
 */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { MeasureRoundTrip } from "@gatehouse/agent-core/dns/round-trip";
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import type { GatewayState } from "../device-agent.ts";
import type { DeviceDns } from "../names/device-dns.ts";
import { hasSessionEnded } from "../session/session-end.ts";
import { signInRemedy } from "../session/session-watch.ts";
import { wireGuardSessionMs } from "../tunnel/path-selection.ts";
import { unservedId } from "../tunnel/unserved-peer.ts";
import { type AccessCheck, type CheckStep, checkSteps, type StepResult } from "./check-result.ts";
import { type CheckTarget, gatewayOf, offers, portOf, targetOf } from "./check-target.ts";
import type { ConnectTarget } from "./connect-target.ts";

/** The first packet also waits for a handshake, which WireGuard repeats after 5 s. */
const attempts = 3;

export interface DeviceCheckParts {
  /** The device's user. */
  readonly user: string;
  readonly interfaceName: string;
  readonly configuration: () => DeviceConfiguration | undefined;
  readonly gatewayStates: () => Promise<readonly GatewayState[]>;
  /** Returns the names of the configuration, exact or `*.domain`, that an address was resolved for. */
  readonly namesOf: (address: string) => readonly string[];
  /** Why the control plane does not admit the device at all; undefined: it does, or it is not connected. */
  readonly rejection: () => string | undefined;
  /** @returns undefined if the control plane cannot answer */
  readonly ask: (to: string) => Promise<DeviceAnswer | undefined>;
  /** Undefined: the agent does not serve DNS. */
  readonly dns: Pick<DeviceDns, "resolve"> | undefined;
  /** The address of the agent's DNS server, for people. */
  readonly dnsAddress: string | undefined;
  /** Resolves a name like the programs of this machine. @throws Error if that fails */
  readonly lookUp: (name: string) => Promise<readonly string[]>;
  /** Returns the interface through which the kernel sends packets to an address; undefined: none. */
  readonly routeTo: (address: string) => Promise<string | undefined>;
  readonly roundTrip: MeasureRoundTrip;
  readonly connect: ConnectTarget;
  readonly clock: Clock;
}

type Finding = Pick<StepResult, "text" | "remedy">;
const restartRemedy = "Restart the agent: sudo systemctl restart gatehouse-device";
const laterRemedy = "Try again in a minute. If the problem persists, ask your administrator.";

function unservedText({ text }: CheckTarget): string {
  return `This device blocks ${text}, because no gateway in service carries it.`;
}

/** The first broken step ends the check. */
class Broken extends Error {}

export class DeviceCheck {
  readonly #parts: DeviceCheckParts;
  readonly #to: string;
  readonly #port: number | undefined;
  readonly #results = new Map<CheckStep, StepResult>();

  /** @param port the TCP port to connect to; undefined: one that the resource offers */
  constructor(parts: DeviceCheckParts, to: string, port: number | undefined) {
    this.#parts = parts;
    this.#to = to;
    this.#port = port;
  }

  async run(): Promise<AccessCheck> {
    let resource: string | undefined;
    try {
      this.#checkSignIn();
      const answer = await this.#checkDecision();
      resource = answer?.resource?.name;
      const target = this.#target(answer);
      const gateway = await this.#checkRoute(target);
      await this.#checkGateway(gateway);
      const addresses = await this.#checkDns(target);
      await this.#checkTarget(target, addresses);
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
    }
    const steps = checkSteps.map(
      (step): StepResult => this.#results.get(step) ?? { step, state: "skipped", text: "Not checked." },
    );
    const broken = steps.find(({ state }) => state === "broken")?.step;
    return {
      to: this.#to,
      ...(resource === undefined ? {} : { resource }),
      ...(broken === undefined ? {} : { broken }),
      steps,
    };
  }

  #checkSignIn(): void {
    const { rejection, configuration, clock, user } = this.#parts;
    const rejected = rejection();
    if (rejected !== undefined) {
      this.#fail("sign-in", { text: "The control plane does not admit this device.", remedy: rejected });
    }
    const content = configuration();
    const end = content?.sessionEndsAt;
    if (content !== undefined && end !== undefined && hasSessionEnded(content, clock.now())) this.#failSession(end);
    const until = end === undefined ? "" : ` The session ends at ${new Date(end).toISOString()}.`;
    this.#pass("sign-in", `This device belongs to ${user}.${until}`);
  }

  #failSession(end: number | undefined): never {
    const at = end === undefined ? "" : ` at ${new Date(end).toISOString()}`;
    this.#fail("sign-in", { text: `The session of this device ended${at}.`, remedy: signInRemedy });
  }

  async #checkDecision(): Promise<DeviceAnswer | undefined> {
    const answer = await this.#parts.ask(this.#to);
    if (answer === undefined || answer.outcome === "failed") {
      const why = answer?.reasons[0]?.text ?? "The control plane cannot answer now.";
      this.#set("decision", "unknown", { text: `${why} The other steps use the stored configuration.` });
      return undefined;
    }
    const name = answer.resource?.name ?? this.#to;
    const reasons = answer.reasons.map(({ text }) => text).join(" ");
    if (answer.reasons.some(({ kind }) => kind === "session_ended")) {
      this.#failSession(this.#parts.configuration()?.sessionEndsAt);
    }
    if (answer.outcome === "blocked") {
      this.#fail("decision", {
        text: `Access to ${name} is not allowed.`,
        remedy: reasons === "" ? "Ask your administrator for access." : reasons,
      });
    }
    const limits = answer.outcome === "reachable" && reasons !== "" ? ` ${reasons}` : "";
    this.#pass("decision", `Access to ${name} is allowed.${limits}`);
    if (answer.outcome === "unavailable") {
      const text = reasons === "" ? "No gateway can carry the traffic now." : reasons;
      const configuration = this.#parts.configuration();
      const target = targetOf(this.#to, answer.resource, configuration);
      const isUnserved =
        target !== undefined && gatewayOf(configuration, target, this.#parts.namesOf)?.gateway === unservedId;
      this.#fail("gateway", { text: isUnserved ? `${text} ${unservedText(target)}` : text, remedy: laterRemedy });
    }
    return answer;
  }

  #target(answer: DeviceAnswer | undefined): CheckTarget {
    const target = targetOf(this.#to, answer?.resource, this.#parts.configuration());
    if (target !== undefined) return target;
    if (answer === undefined) {
      this.#fail("decision", {
        text: `The stored configuration does not contain ${JSON.stringify(this.#to)}, and the control plane cannot answer now.`,
        remedy: "Name an IP address, or check the connection to the control plane: sudo gatehouse-device status",
      });
    }
    this.#fail("route", {
      text: `The names of ${answer.resource?.name ?? this.#to} are wildcards only.`,
      remedy: "Name one of its host names.",
    });
  }

  async #checkRoute(target: CheckTarget): Promise<DeviceGateway> {
    const { configuration, interfaceName } = this.#parts;
    const content = configuration();
    if (content === undefined) {
      this.#fail("route", {
        text: "The agent has no valid configuration, so it uses no gateway.",
        remedy: "Check the connection to the control plane: sudo gatehouse-device status",
      });
    }
    const gateway = gatewayOf(content, target, this.#parts.namesOf);
    if (gateway === undefined) {
      this.#fail("route", {
        text: `The configuration in use sends nothing to ${target.text} through a gateway.`,
        remedy: laterRemedy,
      });
    }
    if (gateway.gateway === unservedId) this.#fail("gateway", { text: unservedText(target), remedy: laterRemedy });
    const address = target.kind === "name" ? (gateway.addresses[0] ?? "") : (target.text.split("/")[0] ?? "");
    await this.#checkKernelRoute(address);
    this.#pass("route", `Packets go into the tunnel (${interfaceName}).`);
    return gateway;
  }

  async #checkKernelRoute(address: string): Promise<void> {
    const { routeTo, interfaceName } = this.#parts;
    const used = await routeTo(address);
    if (used === interfaceName) return;
    const text =
      used === undefined
        ? `This machine has no route to ${address}.`
        : `This machine sends packets to ${address} through ${used} instead of the tunnel.`;
    this.#fail("route", { text, remedy: `Another program may have changed the routes. ${restartRemedy}` });
  }

  /** The step `handshake` is broken without a handshake. With one, `gateway` is broken if packets get no answer. */
  async #checkGateway({ gateway, addresses: [address = ""] }: DeviceGateway): Promise<void> {
    const { roundTrip, gatewayStates, clock } = this.#parts;
    let answeredIn: number | undefined;
    for (let attempt = 1; attempt <= attempts && answeredIn === undefined; attempt += 1) {
      answeredIn = await roundTrip(address);
    }
    const state = (await gatewayStates()).find((each) => each.gateway === gateway);
    const path = state?.path === undefined ? undefined : `${state.path} (${state.isRelay ? "relay" : "direct"})`;
    const last = state?.lastHandshake;
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock.now() - last;
    if (answeredIn === undefined && age > wireGuardSessionMs) {
      const since = last === undefined ? "" : ` since ${new Date(last).toISOString()}`;
      this.#fail("handshake", {
        text: `The gateway ${path === undefined ? "" : `at ${path} `}does not answer handshakes${since}.`,
        remedy: "Check that this network lets UDP through to that address. If it does, the gateway is down.",
      });
    }
    const seconds = Number.isFinite(age) ? `${Math.max(0, Math.round(age / 1_000))} s ago` : "unknown";
    this.#pass("handshake", `Last handshake ${seconds}, over ${path ?? "a path that the gateway chose"}.`);
    if (answeredIn === undefined) {
      this.#fail("gateway", {
        text: "The gateway does not answer through the tunnel.",
        remedy:
          "It may be restarting, or packets are lost on the way. Try again in a minute, then ask your administrator.",
      });
    }
    this.#pass("gateway", `The gateway answers in ${answeredIn} ms.`);
  }

  /** @returns the addresses of the target */
  async #checkDns(target: CheckTarget): Promise<readonly string[]> {
    const { dns, dnsAddress, lookUp } = this.#parts;
    if (target.kind !== "name") {
      this.#set("dns", "skipped", { text: "An address needs no DNS." });
      return [target.text];
    }
    if (dns === undefined) {
      this.#fail("dns", { text: "The agent runs without DNS.", remedy: "Run the agent without --dns off." });
    }
    const resolved = await dns.resolve(target.text);
    if (resolved === undefined || resolved.addresses.length === 0) {
      const answer = resolved === undefined ? "no gateway resolves it" : `the gateway answers ${resolved.rcode}`;
      this.#fail("dns", {
        text: `${target.text} has no address: ${answer}.`,
        remedy:
          "Check the spelling. If it is correct, the DNS server of the site lacks the name: ask your administrator.",
      });
    }
    const seen = await lookUp(target.text).catch((): readonly string[] => []);
    if (!seen.some((address) => resolved.addresses.includes(address))) {
      const instead = seen.length === 0 ? "get no answer" : `get ${seen.slice(0, 3).join(", ")}`;
      this.#fail("dns", {
        text: `The programs of this machine do not ask the agent for ${target.text}: they ${instead}.`,
        remedy: `Add "nameserver ${dnsAddress ?? "127.0.0.153"}" as the first line of /etc/resolv.conf, or use systemd-resolved.`,
      });
    }
    await this.#checkKernelRoute(resolved.addresses[0] ?? "");
    this.#pass("dns", `${target.text} is ${resolved.addresses.slice(0, 3).join(", ")}.`);
    return resolved.addresses;
  }

  async #checkTarget({ kind, text, tcp }: CheckTarget, [address = ""]: readonly string[]): Promise<void> {
    if (kind === "network") {
      this.#set("target", "unknown", { text: `${text} is a network. To check a machine in it, name its address.` });
      return;
    }
    const port = this.#port ?? portOf(tcp);
    if (port === "none") return this.#set("target", "unknown", { text: "The resource has no TCP port to connect to." });
    if (port === "unknown") {
      return this.#set("target", "unknown", { text: "The TCP port is not known. Name one with --port." });
    }
    if (!offers(tcp, port)) {
      this.#fail("target", { text: `The resource does not offer TCP port ${port}.`, remedy: "Name another port." });
    }
    const { outcome, durationMs } = await this.#parts.connect(address, port);
    switch (outcome) {
      case "connected":
        return this.#pass("target", `${text} accepts connections on TCP port ${port} (${durationMs} ms).`);
      case "refused":
        return this.#fail("target", {
          text: `${text} refuses connections on TCP port ${port}.`,
          remedy: "Check that the service runs there, and that the port is right.",
        });
      case "silent":
        return this.#fail("target", {
          text: `${text} does not answer on TCP port ${port} within 3 s.`,
          remedy: "The machine is down, or a firewall behind the gateway drops the packets.",
        });
      case "unreachable":
        return this.#fail("target", {
          text: `The network behind the gateway cannot reach ${text}.`,
          remedy: "The machine is down, or the gateway has no route to it. Ask your administrator.",
        });
    }
  }

  #pass(step: CheckStep, text: string): void {
    this.#set(step, "ok", { text });
  }

  #fail(step: CheckStep, finding: Finding): never {
    this.#set(step, "broken", finding);
    throw new Broken();
  }

  #set(step: CheckStep, state: StepResult["state"], finding: Finding): void {
    this.#results.set(step, { step, state, ...finding });
  }
}
