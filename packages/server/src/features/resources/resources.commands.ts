import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/resources.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { Resource } from "@gatehouse/contract/records/resource";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import type { CachedList } from "../../platform/lists/page-reader.ts";
import { created, empty, type Outcome } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  type CanonicalAddress,
  checkAnswersWithin,
  checkNewAddress,
  insertAddresses,
  repeatedAddresses,
  requirePortLimit,
} from "../addresses/addresses.api.ts";
import { heldTokens, noTokens, type TokenViewer, tokenViewer } from "../gateways/gateways.api.ts";
import { canonicalIds, existingRecords, requireIds, requireUnused } from "../references/references.api.ts";
import * as queries from "./resources.queries.ts";
import { storedResource } from "./resources.rules.ts";
import { resourceView, sharedResourceView } from "./resources.view.ts";

export async function listResources(call: Call<typeof operations.listResources>): Promise<Outcome> {
  const viewer = tokenViewer(call);
  return call.reads.page(cachedList(viewer), ({ rows, total }, hold) => {
    const tokens = heldTokens(viewer, hold);
    const items = rows.map((row) => resourceView(row, tokens));
    return pageOfItems(call.listQuery, items, total);
  });
}

export async function readResource(call: Call<typeof operations.readResource>): Promise<Outcome> {
  const viewer = tokenViewer(call);
  const { id } = call.parameters;
  return call.reads.record(cachedList(viewer), id, {
    load: (tx) => queries.readResource(tx, id, viewer.maySee),
    present: (row, hold) => ({ body: resourceView(row, heldTokens(viewer, hold)), version: row.version }),
  });
}

function cachedList(viewer: TokenViewer): CachedList<queries.WholeResourceRow> {
  const { maySee } = viewer;
  return {
    source: queries.source,
    searched: "name",
    view: maySee ? "with tokens" : "without tokens",
    list: (tx, query) => queries.listResources(tx, query, maySee),
    read: (tx, ids) => queries.readResources(tx, ids, maySee),
    present: (row, share) => sharedResourceView(row, share, (hold) => heldTokens(viewer, hold)),
  };
}

export async function createResource(call: Call<typeof operations.createResource>): Promise<Outcome> {
  const { name, type, description = "", addresses: requested } = call.body;
  const addresses = canonicalAddresses(call.body);
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const id = newId();
    const known = await existingRecords(tx, "protocol", canonicalIds(requested.flatMap(({ protocols }) => protocols)));
    for (const [index, { protocols: ids }] of requested.entries()) {
      requireIds({ pointer: `/addresses/${index}/protocols`, noun: "protocol", ids }, known);
    }
    const after = requested.flatMap(({ protocols }) => canonicalIds(protocols));
    await requirePortLimit(tx, { resourceId: id, pointer: "/addresses", before: [], after });
    const stored = { id, name, type, description, loadBalancingMode: "MANUAL" } as const;
    await queries.insertResources(tx, call.granted, [stored], call.now);
    const owned = addresses.map(({ text, isIp, answersWithin }, index) => ({
      id: newId(),
      resourceId: id,
      address: text,
      isIp,
      protocolIds: canonicalIds(requested[index]?.protocols ?? []),
      answersWithin,
    }));
    await insertAddresses(tx, call.granted, owned, call.now);
    const row = await requireResource(tx, id, tokens.maySee);
    tx.record({ type: "resource", id, name, after: resourceView(row, noTokens) });
    return created(resourceView(row, tokens), row.version, `/tenants/resources/${id}`);
  });
}

interface NewAddress extends CanonicalAddress {
  readonly answersWithin: readonly string[] | null;
}

/** @throws AppError invalid_address, duplicate_address */
function canonicalAddresses({
  type,
  addresses,
}: {
  readonly type: Resource["type"];
  readonly addresses: readonly { readonly address: string; readonly answersWithin?: readonly string[] | null }[];
}): readonly NewAddress[] {
  const canonical: NewAddress[] = [];
  const errors: ProblemField[] = [];
  for (const [index, { address, answersWithin }] of addresses.entries()) {
    const at = `/addresses/${index}`;
    const check = checkNewAddress(address, type);
    if (!check.ok) {
      errors.push(bodyField(`${at}/address`, check.message));
      continue;
    }
    const answers = checkAnswersWithin(answersWithin, check.value, type, at);
    if (answers.ok) canonical.push({ ...check.value, answersWithin: answers.value });
    else errors.push(...answers.errors);
  }
  if (errors.length > 0) throw new AppError("invalid_address", { errors });
  const repeated = repeatedAddresses(canonical);
  if (repeated.length > 0) throw new AppError("duplicate_address", { errors: repeated });
  return canonical;
}

export async function updateResource(call: Call<typeof operations.updateResource>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, id);
    const { name, description = row.description } = call.body;
    if (name === row.name && description === row.description) return empty(row.version);
    const before = resourceView(await requireResource(tx, id), noTokens);
    await queries.updateResources(tx, call.granted, [{ ...storedResource(row), name, description }], call.now);
    const after = await requireResource(tx, id);
    tx.record({ type: "resource", id, name, before, after: resourceView(after, noTokens) });
    return empty(after.version);
  });
}

export async function deleteResource(call: Call<typeof operations.deleteResource>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, id);
    const resource = { noun: "resource", id, name: row.name } as const;
    await requireUnused(call.references, tx, resource, "resource_in_use");
    const before = resourceView(await requireResource(tx, id), noTokens);
    await call.references.remove(tx, call.granted, resource, call.now);
    await queries.deleteResources(tx, call.granted, [id]);
    tx.record({ type: "resource", id, name: row.name, before });
    return empty();
  });
}

export async function configureLoadBalancing(call: Call<typeof operations.configureLoadBalancing>): Promise<Outcome> {
  const { id } = call.parameters;
  const { loadBalancingMode, gateways } = call.body;
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx, id);
    const gatewayIds = canonicalIds(gateways);
    requireIds(
      { pointer: "/gateways", noun: "gateway", ids: gateways },
      await existingRecords(tx, "gateway", gatewayIds),
    );
    const before = resourceView(await requireResource(tx, id), noTokens);
    const current = before.gateways.map((gateway) => gateway.id);
    if (loadBalancingMode === row.load_balancing_mode && isDeepStrictEqual(gatewayIds, current)) {
      return empty(row.version);
    }
    const stored = { ...storedResource(row), loadBalancingMode, gatewayIds };
    await queries.updateResources(tx, call.granted, [stored], call.now);
    const after = await requireResource(tx, id);
    tx.record({ type: "resource", id, name: row.name, before, after: resourceView(after, noTokens) });
    return empty(after.version);
  });
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.ResourceRow> {
  const row = await queries.lockResource(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

async function requireResource(tx: TenantTx, id: string, withToken = false): Promise<queries.WholeResourceRow> {
  const row = await queries.readResource(tx, id, withToken);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
