/** `--wait`: a command that changes access ends when gateways enforce the change, or says which do not. */
import { maxWaitSeconds } from "@gatehouse/contract/operation";
import { type SyncState, syncStates } from "@gatehouse/contract/records/gateway-sync";
import { InvalidArgumentError, Option } from "commander";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";

export interface Enforcement {
  /** `unknown`: what was asked for is done, but the server could not find out about gateways. */
  readonly state: "applied" | "incomplete" | "unknown";
  /** How many gateways the tenant has. */
  readonly gateways: number;
  /** How many have not said that they enforce it. */
  readonly missing: number;
  /** The first of those. */
  readonly notEnforced: readonly {
    readonly id: string;
    /** Absent where the key may not read gateways. */
    readonly name?: string;
    readonly state: SyncState;
  }[];
}

export function waitOption(): Option {
  return new Option(
    "--wait [seconds]",
    `Wait until gateways enforce it, as --wait=30: ${maxWaitSeconds} seconds at most, 10 where it does not say.`,
  ).argParser((text) => {
    const seconds = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
    if (seconds >= 1 && seconds <= maxWaitSeconds) return seconds;
    throw new InvalidArgumentError(`Write --wait, or --wait=SECONDS with a number from 1 to ${maxWaitSeconds}.`);
  });
}

export function waitQuery(wait: number | true): { readonly wait: "applied"; readonly timeout?: number } {
  return { wait: "applied", ...(wait === true ? {} : { timeout: wait }) };
}

/**
 * What the last answer said about gateways.
 *
 * @throws CommandFailure where the server is one that does not know of waiting
 */
export async function enforcementOf(client: ApiClient): Promise<Enforcement> {
  const [state = "", ...counts] = (client.headers.get("gatehouse-enforced") ?? "").split(";");
  if (state === "unknown") return { state, gateways: 0, missing: 0, notEnforced: [] };
  const countOf = (name: string) =>
    Number(counts.find((count) => count.startsWith(`${name}=`))?.slice(name.length + 1));
  const gateways = countOf("gateways");
  const missing = countOf("missing");
  if ((state !== "applied" && state !== "incomplete") || Number.isNaN(gateways + missing)) {
    throw new CommandFailure("It is done, but the answer does not say whether gateways enforce it.");
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

/** None where the key may not read them: their ids are told all the same. */
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
  applied: "it enforces it",
  sent: "it has been told, and has not answered yet",
  pending: "it has not been told yet",
  failed: "it refused it, and enforces what it had before",
  offline: "it is not connected, and enforces what it had before",
  "nothing-enforced": "it enforces nothing",
};

export function enforcementLines({ state, gateways, missing, notEnforced }: Enforcement): readonly string[] {
  if (state === "unknown") return ["Whether gateways enforce it could not be found out."];
  if (state === "applied") {
    return [
      gateways === 0
        ? "There are no gateways."
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
