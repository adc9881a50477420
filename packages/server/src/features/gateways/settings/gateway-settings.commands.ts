import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import { AppError } from "../../../platform/app-error.ts";
import type { Call } from "../../../platform/call.ts";
import { type Outcome, record } from "../../../platform/outcome.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { lockForChange, requireGateway } from "../change-gateway.ts";
import { updateGateways } from "../gateways.queries.ts";
import { gatewayView, noTokens } from "../gateways.view.ts";
import * as queries from "./gateway-settings.queries.ts";
import { canonicalSiteSettings, type SiteSettings } from "./gateway-settings.rules.ts";
import { settingsView } from "./gateway-settings.view.ts";

export async function readGatewaySettings(call: Call<typeof operations.readGatewaySettings>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readSiteSettings(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(settingsView(row), row.version);
}

/** Runs alone, because two concurrent commands could both find the network free. */
export async function replaceGatewaySettings(call: Call<typeof operations.replaceGatewaySettings>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.commandAlone(async (tx) => {
    const row = await lockForChange(call, tx, id);
    const { version, resolvers, domains, networks, relayPort } = row;
    const current = { resolvers, domains, networks, relayPort };
    const wanted = wantedSettings(call.body, current);
    if (isDeepStrictEqual(wanted, current)) return record(settingsView(current), version);
    await refuseTakenNetworks(tx, id, wanted);
    if (wanted.relayPort !== current.relayPort) await refuseTakenPort(tx, id, wanted);
    const before = await requireGateway(tx, id);
    await updateGateways(tx, call.granted, [{ ...row, ...wanted }], call.now);
    const after = await requireGateway(tx, id);
    tx.record({
      type: "gateway",
      id,
      name: after.gateway.name,
      before: { ...gatewayView(before, noTokens), settings: settingsView(current) },
      after: { ...gatewayView(after, noTokens), settings: settingsView(wanted) },
    });
    return record(settingsView(wanted), after.version);
  });
}

/** @throws AppError invalid_address */
function wantedSettings(
  body: Call<typeof operations.replaceGatewaySettings>["body"],
  current: SiteSettings,
): SiteSettings {
  const { relayPort } = body;
  const reading = canonicalSiteSettings({
    resolvers: body.resolvers ?? current.resolvers,
    domains: body.domains ?? current.domains,
    networks: body.networks === undefined ? current.networks : body.networks,
    relayPort: relayPort === undefined ? current.relayPort : relayPort === null ? null : Number(relayPort),
  });
  if (reading.ok) return reading.value;
  throw new AppError("invalid_address", { errors: [...reading.errors] });
}

/** @throws AppError network_taken */
async function refuseTakenNetworks(tx: TenantTx, id: string, { networks }: SiteSettings): Promise<void> {
  if (networks === null) return;
  const overlapping = await queries.overlappingNetworks(tx, id, networks);
  if (overlapping.length === 0) return;
  throw new AppError("network_taken", {
    errors: overlapping.map(({ name, network, wanted }) => ({
      pointer: `/networks/${networks.indexOf(wanted)}`,
      message: `${wanted} overlaps ${network}, which is behind the gateway ${JSON.stringify(name)}`,
    })),
  });
}

/**
 * Another gateway may start to listen on the port later. That is not an error: it does not relay for this gateway then.
 *
 * @throws AppError relay_port_taken
 */
async function refuseTakenPort(tx: TenantTx, id: string, { relayPort }: SiteSettings): Promise<void> {
  const holder = relayPort === null ? undefined : await queries.gatewayAtPort(tx, id, relayPort);
  if (holder === undefined) return;
  const name = JSON.stringify(holder.name);
  const message = holder.isRelayed
    ? `${relayPort} is the relay port of the gateway ${name}`
    : `the gateway ${name} uses ${relayPort} as its wireguardPort`;
  throw new AppError("relay_port_taken", { errors: [{ pointer: "/relayPort", message }] });
}
