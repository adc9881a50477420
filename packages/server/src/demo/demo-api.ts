import { operations } from "@gatehouse/contract/operations/all";
import type { Composition } from "../compose.ts";

const paginated = new Set<string>(operations.filter(({ success }) => success.kind === "page").map(({ path }) => path));

/** The fields of a record that the example records need. */
export interface NamedRecord {
  readonly id: string;
  readonly name?: string;
  readonly email?: string;
}

/** Calls the API inside this process like an external client with a key. */
export class DemoApi {
  readonly #app: Composition["app"];
  readonly #key: string;

  constructor(app: Composition["app"], key: string) {
    this.#app = app;
    this.#key = key;
  }

  /** @throws if the API returns an error, which is a bug in the example records */
  async call<T>(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object): Promise<T> {
    const response = await this.#app.inject({
      method,
      url: path,
      headers: { apikey: this.#key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    if (response.statusCode >= 400) {
      throw new Error(`Failed to create the example records: ${method} ${path} returned ${response.body}`);
    }
    return (response.body === "" ? undefined : response.json()) as T; // as the operation declares
  }

  /** Lists all records of a kind. */
  async list(path: string): Promise<readonly NamedRecord[]> {
    if (!paginated.has(path)) return this.call("GET", path);
    const records: NamedRecord[] = [];
    for (;;) {
      const page = await this.call<{ data: readonly NamedRecord[]; hasNext: boolean }>(
        "GET",
        `${path}?limit=100&offset=${records.length}`,
      );
      records.push(...page.data);
      if (!page.hasNext) return records;
    }
  }
}
