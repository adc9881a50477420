/** Reads all facts of a tenant of any size: in pages, so that the time of a statement does not grow with the tenant. */
import type { CompiledDevice } from "@gatehouse/policy/model/compiled-device";
import { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { FactsByKind } from "@gatehouse/policy/model/facts";
import type { Work } from "@gatehouse/policy/work";
import { nilId } from "../../../platform/ids.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { type FactRows, type PagedKind, pageStatements, readNamedFacts, readPolicyIds } from "./facts.queries.ts";
import { deviceFormat, type ModelFacts, resourceFormat, userFormat } from "./packed/packed-facts.ts";
import { type PackedKind, type PageOfRows, packedKinds, packedPageStatements } from "./packed/packed-pages.queries.ts";
import { PackedPages, PackedRecords } from "./packed/packed-records.ts";
import { SharedTexts, sharingTexts } from "./packed/shared-texts.ts";
import { resourcePages } from "./resource-facts.queries.ts";

/** A page takes PostgreSQL and the driver about 10 milliseconds each. */
const defaultPageSize = { packed: 5_000, others: 1_000 };

export interface FactPages {
  /** Performs work between two pages of a kind. The next page of the kind is read after the promise resolves. */
  readonly perform: <Result>(work: Work<Result>) => Promise<Result>;
  /** The most rows of a page. */
  readonly pageSize?: number | undefined;
}

/**
 * Reads all facts in one snapshot. Pages of different kinds are read side by side, and the database works while others
 * are received.
 *
 * @param tx sees one snapshot
 * @returns the facts with their generation; undefined after the tenant was deleted
 */
export async function readFactPages(
  tx: TenantTx,
  { perform, pageSize }: FactPages,
): Promise<{ readonly generation: number | undefined; readonly facts: ModelFacts }> {
  const texts = new SharedTexts();
  const facts = { ...noFacts() };
  const packed = { users: new PackedPages(), devices: new PackedPages(), resources: new PackedPages() };
  const formats = { users: userFormat(), devices: deviceFormat(), resources: resourceFormat() };
  let hasFailed = false;
  const readingPacked = (kind: PackedKind) =>
    readPackedPages(tx, kind, { perform, pageSize, into: packed[kind], isOver: () => hasFailed });
  const readingRows = async <Kind extends PagedKind>(kind: Kind, use: (page: FactRows[Kind]) => Promise<void>) => {
    const size = pageSize ?? defaultPageSize.others;
    const select = pageStatements(size)[kind];
    for (let afterId = nilId; !hasFailed; ) {
      const page = await tx.query(select, tx.tenantId, afterId);
      const last = page.at(-1);
      if (last === undefined) break;
      await use(page as FactRows[Kind]); // the rows of the kind
      if (page.length < size) break;
      afterId = last.id;
    }
  };
  const reading = async (kind: PagedKind) => {
    const rows: FactRows[PagedKind][number][] = [];
    await readingRows(kind, async (page) => {
      for (const row of page) rows.push(row);
    });
    Object.assign(facts, { [kind]: rows });
  };
  const readingResources = async () => {
    for await (const page of resourcePages(tx, pageSize)) {
      if (hasFailed) break;
      const resources = page.map((facts) => new CompiledResource(facts));
      await perform(packed.resources.encoding(resources, formats.resources));
    }
  };
  const readingPolicies = async () => {
    const size = pageSize ?? defaultPageSize.others;
    const ids = await readPolicyIds(tx);
    const policies: FactsByKind["policy"][] = [];
    for (let start = 0; start < ids.length && !hasFailed; start += size) {
      const page = await readNamedFacts(tx, { ...noFacts(), policies: ids.slice(start, start + size) });
      await perform(sharingTexts(page, texts));
      policies.push(...page.policies);
    }
    Object.assign(facts, { policies });
  };
  // No query may be sent after the transaction has ended, so all others are awaited after a failure.
  const guarded = (read: Promise<unknown>) =>
    read.catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  const generation = readGeneration(tx);
  const reads = [
    generation,
    ...packedKinds.map(readingPacked),
    readingResources(),
    ...(["groups", "gateways", "rules"] as const).map(reading),
    readingPolicies(),
  ].map(guarded);
  for (const result of await Promise.allSettled(reads)) if (result.status === "rejected") throw result.reason;
  return {
    generation: await generation,
    facts: {
      users: await perform(PackedRecords.indexing(packed.users, formats.users)),
      devices: await perform(PackedRecords.indexing(packed.devices, formats.devices)),
      resources: await perform(PackedRecords.indexing(packed.resources, formats.resources)),
      others: facts,
    },
  };
}

/** Reads all devices of a tenant, in pages. */
export async function readDevicePages(
  tx: TenantTx,
  { perform, pageSize }: FactPages,
): Promise<PackedRecords<CompiledDevice>> {
  const pages = new PackedPages();
  await readPackedPages(tx, "devices", { perform, pageSize, into: pages, isOver: () => false });
  return perform(PackedRecords.indexing(pages, deviceFormat()));
}

interface PackedReading extends FactPages {
  readonly into: PackedPages;
  /** Whether no further page is needed. */
  readonly isOver: () => boolean;
}

async function readPackedPages(
  tx: TenantTx,
  kind: PackedKind,
  { perform, pageSize: size = defaultPageSize.packed, into, isOver }: PackedReading,
): Promise<void> {
  const select = packedPageStatements(size)[kind];
  for (let afterId: string | null = nilId; afterId !== null && !isOver(); ) {
    const [page]: readonly PageOfRows[] = await tx.query(select, tx.tenantId, afterId);
    if (page === undefined || page.count === 0) break;
    await perform(into.adding(Buffer.from(page.rows), page.count));
    afterId = page.count < size ? null : page.last;
  }
}

function noFacts(): { [Kind in keyof FactRows]: [] } {
  return { users: [], groups: [], devices: [], gateways: [], resources: [], rules: [], policies: [] };
}
