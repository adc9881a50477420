import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/gateways.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record, streamed } from "../../platform/outcome.ts";
import { requireUnused } from "../references/references.api.ts";
import { changeGateway, lockForChange, requireGateway } from "./change-gateway.ts";
import * as queries from "./gateways.queries.ts";
import { checkEndpoint } from "./gateways.rules.ts";
import { gatewayView, noTokens, tokenViewer } from "./gateways.view.ts";
import { noSiteSettings } from "./settings/gateway-settings.rules.ts";

export async function listGateways(call: Call<typeof operations.listGateways>): Promise<Outcome> {
  const tokens = tokenViewer(call);
  return streamed(async (afterId, limit) => {
    const rows = await call.read((tx) => queries.listGateways(tx, afterId, limit, tokens.maySee));
    return rows.map((row) => gatewayView(row, tokens));
  });
}

export async function readGateway(call: Call<typeof operations.readGateway>): Promise<Outcome> {
  const tokens = tokenViewer(call);
  const row = await call.read((tx) => queries.readGateway(tx, call.parameters.id, tokens.maySee));
  if (row === undefined) throw new AppError("not_found");
  return record(gatewayView(row, tokens), row.version);
}

export async function createGateway(call: Call<typeof operations.createGateway>): Promise<Outcome> {
  const { name, wireguardPort, description = "" } = call.body;
  const endpoint = canonicalEndpoint(call.body.endpoint ?? "");
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const id = newId();
    const settings = { name, description, wireguardPort: Number(wireguardPort), endpoint, relayEnabled: false };
    await queries.insertGateways(tx, call.granted, [{ id, ...settings, ...noSiteSettings }], {
      tokens: call.secrets.gatewayTokens,
      at: call.now,
    });
    const row = await requireGateway(tx, id, tokens.maySee);
    tx.record({ type: "gateway", id, name, after: gatewayView(row, noTokens) });
    return created(gatewayView(row, tokens), row.version, `/tenants/gateways/${id}`);
  });
}

export async function updateGateway(call: Call<typeof operations.updateGateway>): Promise<Outcome> {
  const { body } = call;
  return changeGateway(call, (tx, row) => {
    const settings = {
      ...row,
      name: body.name ?? row.name,
      description: body.description ?? row.description,
      wireguardPort: body.wireguardPort === undefined ? row.wireguardPort : Number(body.wireguardPort),
      endpoint: body.endpoint === undefined ? row.endpoint : canonicalEndpoint(body.endpoint),
    };
    if (isDeepStrictEqual(settings, row)) return undefined;
    return queries.updateGateways(tx, call.granted, [settings], call.now);
  });
}

export async function deleteGateway(call: Call<typeof operations.deleteGateway>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, id);
    await requireUnused(call.references, tx, { noun: "gateway", id, name: row.name }, "gateway_in_use");
    // The entry lists the resources that lose the gateway. They keep their versions, because no command addressed them.
    const before = gatewayView(await requireGateway(tx, id), noTokens);
    await queries.deleteGateways(tx, call.granted, [id]);
    tx.record({ type: "gateway", id, name: row.name, before });
    return empty();
  });
}

/** @throws AppError invalid_address */
function canonicalEndpoint(text: string): string {
  const check = checkEndpoint(text);
  if (check.ok) return check.endpoint;
  throw new AppError("invalid_address", { errors: [bodyField("/endpoint", check.message)] });
}
