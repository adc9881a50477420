/** A tenant for one benchmark, and calls with the tenant's key. */
import type pg from "pg";

/** The line that server-process.ts prints when the server is ready. */
export interface ServerAnnouncement {
  readonly url: string;
  /** Answers with the longest block of the event loop since the last request, in milliseconds; also takes profiles. */
  readonly blocks: string;
  readonly operatorKey: string;
  readonly database: pg.ClientConfig;
  /** The process of the embedded PostgreSQL; undefined if another is used. */
  readonly postgresPid?: number | undefined;
}

export interface BenchTenant {
  readonly id: string;
  readonly key: string;
  /** @throws if the response does not have the expected status */
  call(method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT", path: string, body?: string): Promise<string>;
}

export async function makeBenchTenant({ url, operatorKey }: ServerAnnouncement, name: string): Promise<BenchTenant> {
  const made = await answer(
    await fetch(`${url}/operator/tenants`, {
      method: "POST",
      headers: { apikey: operatorKey, "content-type": "application/json" },
      body: JSON.stringify({ name, ownerEmail: "owner@example.com" }),
    }),
  );
  // The operation declares this type.
  const { tenant, apiKey } = JSON.parse(made) as {
    readonly tenant: { readonly id: string };
    readonly apiKey: { readonly key: string };
  };
  return {
    id: tenant.id,
    key: apiKey.key,
    async call(method, path, body) {
      const headers = { apikey: apiKey.key, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      return answer(await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) }));
    },
  };
}

async function answer(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text.slice(0, 500)}`);
  return text;
}
