/** The option `--wait`: the command waits until gateways enforce the change, or reports which gateways do not. */
import { maxWaitSeconds } from "@gatehouse/contract/operation";
import { type SyncState, syncStates } from "@gatehouse/contract/records/gateway-sync";
import { InvalidArgumentError, Option } from "commander";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";

export interface Enforcement {
  /** `unknown`: the change was applied, but the server could not determine whether gateways enforce it. */
  readonly state: "applied" | "incomplete" | "unknown";
  /** Number of gateways that the change concerns. */
  readonly gateways: number;
  /** Number of gateways that have not confirmed the change. */
  readonly missing: number;
  /** The first of those gateways. */
  readonly notEnforced: readonly {
    readonly id: string;
    /** Omitted if the key cannot read gateways. */
    readonly name?: string;
    readonly state: SyncState;
  }[];
}

export function waitOption(): Option {
  return new Option(
    "--wait [seconds]",
    `Wait until gateways enforce the change, for example --wait=30 (default: 10 seconds, at most ${maxWaitSeconds}).`,
  ).argParser((text) => {
    const seconds = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
    if (seconds >= 1 && seconds <= maxWaitSeconds) return seconds;
    throw new InvalidArgumentError(`Use --wait, or --wait=SECONDS with a number from 1 to ${maxWaitSeconds}.`);
  });
}

export function waitQuery(wait: number | true): { readonly wait: "applied"; readonly timeout?: number } {
  return { wait: "applied", ...(wait === true ? {} : { timeout: wait }) };
}

/**
 * The state of gateways according to the last response.
 *
 * @throws CommandFailure if the server does not support waiting
 */
export async function enforcementOf(client: ApiClient): Promise<Enforcement> {
  const [state = "", ...counts] = (client.headers.get("gatehouse-enforced") ?? "").split(";");
  if (state === "unknown") return { state, gateways: 0, missing: 0, notEnforced: [] };
  const countOf = (name: string) =>
    Number(counts.find((count) => count.startsWith(`${name}=`))?.slice(name.length + 1));
  const gateways = countOf("gateways");
  const missing = countOf("missing");
  if ((state !== "applied" && state !== "incomplete") || Number.isNaN(gateways + missing)) {
    throw new CommandFailure("The change was applied, but the response does not state whether gateways enforce it.");
  }
  const listed = (client.headers.get("gatehouse-not-enforced") ?? "").matchAll(/"([0-9a-f-]{36})";state=([a-z-]+)/g);
  const found = Array.from(listed, ([, id = "", how]) => ({
    id,
    state: syncStates.find((known) => known === how) ?? "pending",
  }));
  const names = found.length === 0 ? new Map<string, string>() : await namesOfGateways(client);
  const notEnforced = found.map(({ id, state: how }) => {
    const name = names.get(id);
    return { id, ...(name === undefined ? {} : { name }), state: how };
  });
  return { state, gateways, missing, notEnforced };
}

/** The gateways' names; empty if the key cannot read them. Then only ids are shown. */
async function namesOfGateways(client: ApiClient): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  try {
    const gateways = client.items((gatehouse) => gatehouse.list("/tenants/gateways"), isNamed);
    for await (const { id, name } of gateways) names.set(id, name);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
  }
  return names;
}

function isNamed(value: unknown): value is { readonly id: string; readonly name: string } {
  const fields: { readonly id?: unknown; readonly name?: unknown } =
    value !== null && typeof value === "object" ? value : {};
  return typeof fields.id === "string" && typeof fields.name === "string";
}

const reasons: Readonly<Record<SyncState, string>> = {
  applied: "has applied the change",
  sent: "has received the change but not confirmed it yet",
  pending: "has not received the change yet",
  failed: "rejected the change and enforces its previous configuration",
  offline: "is not connected and enforces its previous configuration",
  "nothing-enforced": "is not connected, has no configuration and forwards nothing",
};

export function enforcementLines({ state, gateways, missing, notEnforced }: Enforcement): readonly string[] {
  if (state === "unknown") return ["Could not determine whether gateways enforce the change."];
  if (state === "applied") {
    return [
      gateways === 0
        ? "The change concerns no gateway."
        : `Enforced by ${gateways === 1 ? "the gateway" : `all ${gateways} gateways`}.`,
    ];
  }
  const more = missing - notEnforced.length;
  return [
    `Not enforced yet by ${missing} of ${gateways} gateways:`,
    ...notEnforced.map(
      ({ id, name, state: how }) => `  ${name === undefined ? id : `${name} (${id})`}: ${reasons[how]}`,
    ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}
