/** The loads of `api-loads.ts`, with their targets. */
import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "./load.ts";

export interface ApiLoad {
  readonly name: string;
  /** The bytes that bare Fastify sends in comparison. */
  readonly like: "record" | "page";
  /** The lowest acceptable share of bare Fastify's throughput. */
  readonly target?: number;
  /** The highest p99, in milliseconds. */
  readonly targetP99?: number;
  readonly load: Omit<Load, "connections" | "seconds">;
  /** Whether something else in the tenant changes meanwhile. */
  readonly changing?: true;
  /** How long the load runs before it is measured, in seconds. 1 if absent. */
  readonly warmUpSeconds?: number;
  /** Whether a change of the tenant precedes the load, so that no cached answer can be used. */
  readonly afterChange?: true;
  /** Whether the server caches only a tenth of what the load reads. */
  readonly smallCache?: true;
}

/** The time in which all orders and nearly all records of the load are read for the first time, in seconds. */
const steadyAfterSeconds = 20;
/** The memory in which a tenth of 100,000 records can be cached, in MiB. */
export const smallCacheMebibytes = 7;

/** Pages that differ between all requests. */
const differentPages = 5_000;
export const firstPage = "/tenants/resources?limit=50&sort=name&filter[type]=PRIVATE";

/** @param tenant.smallUrl a server that caches only `smallCacheMebibytes` */
export function apiLoads(tenant: {
  readonly url: string;
  readonly smallUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
  readonly changesPerSecond: number;
}): readonly ApiLoad[] {
  const { url, smallUrl, headers, ids, changesPerSecond } = tenant;
  const page = `${url}${firstPage}`;
  const list = "GET /tenants/resources, 50";
  return [
    {
      name: "GET /tenants/resources/{id}, one resource",
      like: "record",
      target: 0.3,
      load: { url: `${url}/tenants/resources/${ids[0]}`, headers },
    },
    {
      name: `GET /tenants/resources/{id}, ${ids.length.toLocaleString("en")} in turn, a tenth cached`,
      like: "record",
      target: 0.1,
      smallCache: true,
      load: { url: smallUrl, paths: ids.map((id) => `/tenants/resources/${id}`), headers },
    },
    {
      name: `GET /tenants/resources/{id}, ${ids.length.toLocaleString("en")} in turn`,
      like: "record",
      load: { url, paths: ids.map((id) => `/tenants/resources/${id}`), headers },
    },
    { name: `${list}, one question repeated`, like: "page", target: 0.2, load: { url: page, headers } },
    {
      name: `${list}, repeated, ${changesPerSecond} changes/s elsewhere`,
      like: "page",
      target: 0.1,
      load: { url: page, headers },
      changing: true,
    },
    {
      name: `${list}, any sort, offset and type, after a change`,
      like: "page",
      afterChange: true,
      warmUpSeconds: 0,
      load: { url, paths: anyPages(), headers },
    },
    {
      name: `${list}, any sort, offset and type, after ${steadyAfterSeconds} s`,
      like: "page",
      target: 0.05,
      targetP99: 60,
      warmUpSeconds: steadyAfterSeconds,
      load: { url, paths: anyPages(), headers },
    },
    { name: `${list}, part of a name`, like: "page", target: 0.01, load: { url, paths: otherFilters(), headers } },
    {
      name: "POST /tenants/protocols",
      like: "record",
      load: {
        url: `${url}/tenants/protocols`,
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: '{"name":"Bench [<id>]","networkProtocols":[{"protocol":"TCP","port":"8443"}]}',
      },
    },
  ];
}

/** Different pages with every sort, offsets up to 10,000, and no filter or one by type. */
function anyPages(): string[] {
  const sorts = ["name", "-name", "id", "-id"];
  const filters = ["", "&filter[type]=PRIVATE", "", "&filter[type]=SAAS", "&filter[type]=INTERNET"];
  return Array.from({ length: differentPages }, (_, number) => {
    const order = `sort=${sorts[number % sorts.length]}&offset=${(number * 7_919) % 10_001}`;
    return `/tenants/resources?limit=50&${order}${filters[number % filters.length]}`;
  });
}

/** Pages by part of the name, whose matching rows have to be counted. */
function otherFilters(): string[] {
  return Array.from({ length: differentPages }, (_, number) => {
    const part = number.toString(16).padStart(3, "0");
    return `/tenants/resources?limit=50&sort=name&filter[name][ilike]=%25${part}%25`;
  });
}

/** Creates a group. Returns its id. */
export async function changeOnce(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const made = await fetch(`${url}/tenants/groups`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ name: `Bench ${performance.now()}` }),
  });
  return ((await made.json()) as { id: string }).id; // the operation declares this type
}

/** Changes a group of the tenant at a fixed rate. */
export function changeAlways(
  url: string,
  headers: Readonly<Record<string, string>>,
  changesPerSecond: number,
): { stop(): Promise<void> } {
  let stopped = false;
  const change = async () => {
    const id = await changeOnce(url, headers);
    for (let number = 0; !stopped; number += 1) {
      await fetch(`${url}/tenants/groups/${id}`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ description: `Change ${number}` }),
      });
      await delay(1_000 / changesPerSecond);
    }
  };
  const changed = change();
  return {
    stop: () => {
      stopped = true;
      return changed;
    },
  };
}
