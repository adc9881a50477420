/**
 * Reads the facts about resources. A resource can have 10,000 ports, and thousands of resources can have the same ones.
 * Rows therefore contain the ids of protocols. The ports of each protocol are read once, and pages are limited by the
 * number of ids.
 */
import type { ResourceFacts } from "@gatehouse/policy/model/facts";
import type { ProtocolList } from "@gatehouse/policy/model/protocol-lists";
import { isLastPage, type SizedRow, sizedPage } from "../../../platform/db/sized-page.ts";
import { type Statement, statement } from "../../../platform/db/statement.ts";
import { nilId } from "../../../platform/ids.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { changedIds, hasDeleted, isAmong } from "./changed-ids.ts";
import { sharedProtocols } from "./packed/shared-protocols.ts";

interface ResourceRow extends SizedRow, Pick<ResourceFacts, "id" | "name" | "type" | "loadBalancingMode" | "gateways"> {
  /** The ids of the protocols are separated by spaces. */
  readonly addresses: readonly (readonly [address: string, protocols: string, answersWithin: string[] | null])[];
}

interface ListRow {
  readonly id: string;
  readonly list: ProtocolList;
}

/** The most resources of a page. */
const defaultPageSize = 1_000;
/** The addresses and references of a page, after which it contains no further resource: about 1 MB. */
const mostParts = 30_000;
/** The most protocols whose ports one statement reads: up to 2 MB. */
const mostLists = 500;

/**
 * SQL for a page of resources in the order of their ids.
 *
 * @param afterId the parameter with the id after which the page begins
 */
function pageOf(condition: string, afterId: string, pageSize = defaultPageSize): string {
  const sized = `SELECT item.tenant_id, item.id, item.name, item.type, item.load_balancing_mode, (
          SELECT coalesce(sum(1 + coalesce(cardinality(address.answers_within), 0) + (
              SELECT count(*) FROM address_protocols AS offered
              WHERE offered.tenant_id = address.tenant_id AND offered.address_id = address.id
            )), 0)
          FROM addresses AS address WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id
        ) AS size
      FROM resources AS item
      WHERE item.tenant_id = $1 AND item.id > ${afterId}${condition} ORDER BY item.id LIMIT ${Math.floor(pageSize)}`;
  return `SELECT item.id, item.name, item.type, item.load_balancing_mode AS "loadBalancingMode", item.found,
      coalesce((
        SELECT json_agg(json_build_array(address.address, coalesce((
            SELECT string_agg(offered.protocol_id::text, ' ' ORDER BY offered.position)
            FROM address_protocols AS offered
            WHERE offered.tenant_id = address.tenant_id AND offered.address_id = address.id
          ), ''), address.answers_within) ORDER BY address.id)
        FROM addresses AS address WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id
      ), '[]') AS addresses,
      ARRAY(SELECT link.gateway_id FROM resource_gateways AS link
        WHERE link.tenant_id = item.tenant_id AND link.resource_id = item.id ORDER BY link.priority)::text[] AS gateways
    FROM (${sizedPage(sized, "id", mostParts)}) AS item ORDER BY item.id`;
}

const selectLists = statement<ListRow, [tenantId: string, ids: readonly string[]]>(
  "access.ports_of_protocols",
  "SELECT id, network_protocols AS list FROM protocols WHERE tenant_id = $1 AND id = ANY($2::uuid[])",
);

/** SQL for the ports of the first protocols that resources use. OFFSET makes PostgreSQL find them by address. */
function listsUsedBy(ids: string): string {
  return `SELECT id, network_protocols AS list FROM protocols WHERE tenant_id = $1 AND ${isAmong(
    "id",
    `SELECT DISTINCT offered.protocol_id FROM addresses AS address CROSS JOIN LATERAL (
        SELECT used.protocol_id FROM address_protocols AS used
        WHERE used.tenant_id = address.tenant_id AND used.address_id = address.id OFFSET 0
      ) AS offered
      WHERE address.tenant_id = $1 AND ${isAmong("address.resource_id", ids)} LIMIT ${mostLists}`,
  )}`;
}

type PageStatement = Statement<ResourceRow, [tenantId: string, afterId: string]>;
const knownPages = new Map<number, PageStatement>();

/** The statement that reads a page of all resources. Its text has the page size, so that PostgreSQL plans for it. */
function selectPage(pageSize: number): PageStatement {
  const known =
    knownPages.get(pageSize) ?? statement(`access.page_of_${pageSize}_resources`, pageOf("", "$2", pageSize));
  knownPages.set(pageSize, known);
  return known;
}

const ofIds = " AND item.id = ANY($2::uuid[])";
const selectNamed = statement<ResourceRow, [tenantId: string, ids: readonly string[], afterId: string]>(
  "access.named_resources",
  pageOf(ofIds, "$3"),
);
const selectNamedLists = statement<ListRow, [tenantId: string, ids: readonly string[]]>(
  "access.ports_of_named_resources",
  listsUsedBy("SELECT unnest($2::uuid[])"),
);

/**
 * SQL for the resources that may have changed. The outbox does not name those that lost an address or a gateway, and
 * those that use a changed protocol.
 */
const changedResources = `${changedIds("resource")} UNION ALL
      SELECT address.resource_id FROM addresses AS address
      WHERE address.tenant_id = $1 AND ${isAmong("address.id", changedIds("address"))} UNION ALL
      SELECT address.resource_id FROM address_protocols AS offered
      JOIN addresses AS address ON address.tenant_id = offered.tenant_id AND address.id = offered.address_id
      WHERE offered.tenant_id = $1 AND ${isAmong("offered.protocol_id", changedIds("protocol", "updated"))} UNION ALL
      SELECT each.id FROM resources AS each
      WHERE each.tenant_id = $1 AND ${hasDeleted(["address", "gateway"])}`;
const selectChanged = statement<ResourceRow, [tenantId: string, since: number, afterId: string]>(
  "access.changed_resources",
  pageOf(` AND ${isAmong("item.id", changedResources)}`, "$3"),
);
const selectChangedLists = statement<ListRow, [tenantId: string, since: number]>(
  "access.ports_of_changed_resources",
  listsUsedBy(changedResources),
);

const selectUsing = statement<{ readonly id: string }, [tenantId: string, protocols: readonly string[]]>(
  "access.resources_with_protocols",
  `SELECT DISTINCT address.resource_id AS id FROM address_protocols AS offered
   JOIN addresses AS address ON address.tenant_id = offered.tenant_id AND address.id = offered.address_id
   WHERE offered.tenant_id = $1 AND offered.protocol_id = ANY($2::uuid[])`,
);

/** The ids of the resources that use protocols. */
export async function readResourcesUsing(tx: TenantTx, protocols: readonly string[]): Promise<readonly string[]> {
  return protocols.length === 0 ? [] : (await tx.query(selectUsing, tx.tenantId, protocols)).map(({ id }) => id);
}

/** Reads all resources page by page. */
export function resourcePages(tx: TenantTx, pageSize = defaultPageSize): AsyncIterable<readonly ResourceFacts[]> {
  const select = selectPage(pageSize);
  return new ResourcePages(tx, (afterId) => tx.query(select, tx.tenantId, afterId), pageSize).reading();
}

/** All resources. */
export async function readAllResources(tx: TenantTx): Promise<readonly ResourceFacts[]> {
  return collected(resourcePages(tx));
}

/** The resources that exist. Starts the first queries at once. */
export function readNamedResources(tx: TenantTx, ids: readonly string[]): Promise<readonly ResourceFacts[]> {
  if (ids.length === 0) return Promise.resolve([]);
  const pages = new ResourcePages(tx, (afterId) => tx.query(selectNamed, tx.tenantId, ids, afterId));
  pages.start(tx.query(selectNamedLists, tx.tenantId, ids));
  return collected(pages.reading());
}

/**
 * The resources that may have changed since a generation. Starts the first queries at once.
 *
 * @param isSnapshot whether all queries must be sent at once
 * @returns undefined if more queries would be needed in a snapshot
 */
export async function readChangedResources(
  tx: TenantTx,
  since: number,
  isSnapshot: boolean,
): Promise<readonly ResourceFacts[] | undefined> {
  const pages = new ResourcePages(tx, (afterId) => tx.query(selectChanged, tx.tenantId, since, afterId));
  pages.start(tx.query(selectChangedLists, tx.tenantId, since));
  return isSnapshot ? pages.only() : collected(pages.reading());
}

/** Reads resources page by page, and the ports of protocols that no earlier page used. */
class ResourcePages {
  readonly #tx: TenantTx;
  readonly #read: (afterId: string) => Promise<readonly ResourceRow[]>;
  readonly #pageSize: number;
  readonly #lists = new Map<string, ProtocolList>();
  #started: Promise<readonly [rows: readonly ResourceRow[], lists: readonly ListRow[]]> | undefined;

  constructor(tx: TenantTx, read: (afterId: string) => Promise<readonly ResourceRow[]>, pageSize = defaultPageSize) {
    this.#tx = tx;
    this.#read = read;
    this.#pageSize = pageSize;
  }

  /** Starts reading the first page, together with the ports of some of its protocols. */
  start(lists: Promise<readonly ListRow[]>): void {
    this.#started = Promise.all([this.#read(nilId), lists]);
    // The caller may fail before it awaits this.
    this.#started.catch(() => undefined);
  }

  /** The first page. Undefined if it does not contain everything. */
  async only(): Promise<readonly ResourceFacts[] | undefined> {
    const rows = await this.#first();
    if (!this.#isLast(rows) || this.#missing(rows).length > 0) return undefined;
    return rows.map((row) => this.#factsOf(row));
  }

  async *reading(): AsyncGenerator<readonly ResourceFacts[], void, void> {
    for (let rows = await this.#first(); ; ) {
      const missing = this.#missing(rows);
      for (let start = 0; start < missing.length; start += mostLists) {
        const ids = missing.slice(start, start + mostLists);
        this.#addLists(await this.#tx.query(selectLists, this.#tx.tenantId, ids));
      }
      if (rows.length > 0) yield rows.map((row) => this.#factsOf(row));
      const last = rows.at(-1);
      if (last === undefined || this.#isLast(rows)) return;
      rows = await this.#read(last.id);
    }
  }

  async #first(): Promise<readonly ResourceRow[]> {
    if (this.#started === undefined) return this.#read(nilId);
    const [rows, lists] = await this.#started;
    this.#addLists(lists);
    return rows;
  }

  #addLists(rows: readonly ListRow[]): void {
    for (const { id, list } of rows) this.#lists.set(id, sharedProtocols(list));
  }

  #isLast(rows: readonly ResourceRow[]): boolean {
    return isLastPage(rows, this.#pageSize);
  }

  /** The ids of protocols whose ports are not known yet. */
  #missing(rows: readonly ResourceRow[]): readonly string[] {
    const missing = new Set<string>();
    for (const { addresses } of rows) {
      for (const [, protocols] of addresses) {
        for (const id of idsIn(protocols)) if (!this.#lists.has(id)) missing.add(id);
      }
    }
    return [...missing];
  }

  /** The facts with their keys in the order of the history, because facts are compared as texts. */
  #factsOf({ id, name, type, loadBalancingMode, addresses, gateways }: ResourceRow): ResourceFacts {
    return {
      id,
      name,
      type,
      loadBalancingMode,
      addresses: addresses.map(([address, protocols, answersWithin]) => ({
        address,
        answersWithin,
        protocols: idsIn(protocols).map((protocol) => this.#lists.get(protocol) ?? []),
      })),
      gateways,
    };
  }
}

function idsIn(text: string): readonly string[] {
  return text === "" ? [] : text.split(" ");
}

async function collected<Item>(pages: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const page of pages) for (const item of page) items.push(item);
  return items;
}
