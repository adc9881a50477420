import type * as operations from "@gatehouse/contract/operations/protocols.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record, streamed } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { requireUnused } from "../references/references.api.ts";
import * as queries from "./protocols.queries.ts";
import { canonicalNetworkProtocols, nameFromContent, numberedName, stemOf } from "./protocols.rules.ts";
import { protocolView } from "./protocols.view.ts";

export async function listProtocols(call: Call<typeof operations.listProtocols>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listProtocols(tx, afterId, limit))).map(protocolView),
  );
}

export async function readProtocol(call: Call<typeof operations.readProtocol>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readProtocol(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(protocolView(row), row.version);
}

export async function createProtocol(call: Call<typeof operations.createProtocol>): Promise<Outcome> {
  const { name } = call.body;
  const networkProtocols = canonicalNetworkProtocols(call.body.networkProtocols);
  if (!networkProtocols.ok) throw new AppError("invalid_combination", { errors: networkProtocols.errors });
  const content = { id: newId(), networkProtocols: networkProtocols.value };
  return call.command(async (tx) => {
    const row =
      name === undefined
        ? await insertNamedByContent(tx, call.granted, content, call.now)
        : (await queries.insertProtocols(tx, call.granted, [{ ...content, name }], call.now))[0];
    if (row === undefined) throw new Error("the inserted protocol was not returned");
    const view = protocolView(row);
    tx.record({ type: "protocol", id: row.id, name: row.name, after: view });
    return created(view, row.version, `/tenants/protocols/${row.id}`);
  });
}

/** Inserts a protocol under a generated name. If the name is taken, even by a concurrent command, it gets a number. */
async function insertNamedByContent(
  tx: TenantTx,
  granted: Granted<"protocols:write">,
  content: Omit<queries.StoredProtocol, "name">,
  at: Date,
): Promise<queries.ProtocolRow> {
  const base = nameFromContent(content.networkProtocols);
  let [row] = await queries.insertProtocolsUnlessTaken(tx, granted, [{ ...content, name: base }], at);
  while (row === undefined) {
    const name = numberedName(base, await queries.namesStartingWith(tx, stemOf(base)));
    [row] = await queries.insertProtocolsUnlessTaken(tx, granted, [{ ...content, name }], at);
  }
  return row;
}

export async function deleteProtocol(call: Call<typeof operations.deleteProtocol>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await queries.lockProtocol(tx, call.parameters.id);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    if (row.type !== "CUSTOM") {
      throw new AppError("predefined_record", { detail: `The protocol ${row.name} is predefined.` });
    }
    await requireUnused(call.references, tx, { noun: "protocol", id: row.id, name: row.name }, "protocol_in_use");
    await queries.deleteProtocols(tx, call.granted, [row.id]);
    tx.record({ type: "protocol", id: row.id, name: row.name, before: protocolView(row) });
    return empty();
  });
}
