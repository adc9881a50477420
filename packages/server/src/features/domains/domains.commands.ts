import { randomBytes } from "node:crypto";
import type * as operations from "@gatehouse/contract/operations/domains.operations";
import { maxDomains } from "@gatehouse/contract/records/domain";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record, streamed } from "../../platform/outcome.ts";
import { addressGroup } from "../../platform/rate-limits/address-group.ts";
import { lockGeneration } from "../../platform/tenancy/generation.queries.ts";
import * as queries from "./domains.queries.ts";
import { domainView, recordName, recordValue } from "./domains.view.ts";

/** A lookup that gets no answer ends after a few seconds. */
const retryAfterSeconds = 5;

export async function listDomains(call: Call<typeof operations.listDomains>): Promise<Outcome> {
  return streamed(async (afterId, limit) =>
    (await call.read((tx) => queries.listDomainRows(tx, afterId, limit))).map(domainView),
  );
}

export async function readDomain(call: Call<typeof operations.readDomain>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readDomainRow(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(domainView(row), row.version);
}

export async function createDomain(call: Call<typeof operations.createDomain>): Promise<Outcome> {
  const domain = call.body.domain.toLowerCase();
  return call.command(async (tx) => {
    // Held until the end, so that nobody else exceeds the limit.
    await lockGeneration(tx);
    if ((await queries.countDomains(tx)) >= maxDomains) throw new AppError("domain_limit_reached");
    const id = newId();
    const token = randomBytes(20).toString("hex");
    const row = await queries.insertDomain(tx, call.granted, { id, domain, token }, call.now);
    const after = domainView(row);
    tx.record({ type: "domain", id, name: domain, after });
    return created(after, row.version, `/tenants/domains/${id}`);
  });
}

/** DNS is asked before the transaction, so that a slow answer holds no lock. */
export async function verifyDomain(call: Call<typeof operations.verifyDomain>): Promise<Outcome> {
  const asked = await call.read((tx) => queries.readDomainRow(tx, call.parameters.id));
  if (asked === undefined) throw new AppError("not_found");
  call.requireVersion(asked.version);
  const proven = await isProven(call, asked);
  return call.command(async (tx) => {
    const row = await queries.lockDomain(tx, asked.id);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    if (!proven) {
      const name = recordName(row.domain);
      throw new AppError("domain_not_proven", {
        detail: `DNS has no TXT record ${name} with the value ${recordValue(row.token)}.`,
      });
    }
    if (row.verified_at !== null) return record(domainView(row), row.version);
    const verified = await queries.markVerified(tx, call.granted, row.id, call.now);
    const after = domainView(verified);
    tx.record({ type: "domain", id: row.id, name: row.domain, before: domainView(row), after });
    return record(after, verified.version);
  });
}

export async function deleteDomain(call: Call<typeof operations.deleteDomain>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await queries.lockDomain(tx, call.parameters.id);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    await queries.removeDomain(tx, call.granted, row.id);
    tx.record({ type: "domain", id: row.id, name: row.domain, before: domainView(row) });
    return empty();
  });
}

/** @throws AppError rate_limited */
async function isProven(
  { txtReads, tenantId, origin }: Pick<Call<typeof operations.verifyDomain>, "txtReads" | "tenantId" | "origin">,
  { domain, token }: queries.DomainRow,
): Promise<boolean> {
  const found = await txtReads.read(tenantId, addressGroup(origin.sourceAddress ?? ""), recordName(domain));
  if (found === "busy") {
    const detail = "Too many requests to verify domains are waiting for DNS. Verify a few domains at a time.";
    throw new AppError("rate_limited", { detail, retryAfterSeconds });
  }
  return found.includes(recordValue(token));
}
