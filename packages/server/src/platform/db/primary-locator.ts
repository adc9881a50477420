/**
 * Connections to the primary of a database with several hosts. Each new connection goes to the host that is primary at
 * that moment, so a promotion needs no restart. Applications of libpq do the same with
 * `target_session_attrs=read-write`.
 */
import { Socket } from "node:net";
import pg from "pg";
import type { Connection } from "./database.ts";
import { urlsOfHosts } from "./database-url.ts";

/** How long a host is the primary without another look, in milliseconds. */
const freshMs = 1_000;
/** A host that does not answer within this time is not the primary, in milliseconds. */
const answerTimeoutMs = 1_000;

/** The connection settings for a URL. With several hosts, connections follow the primary. */
export function connectionOf(databaseUrl: string): Connection {
  const [first = databaseUrl, ...others] = urlsOfHosts(databaseUrl) ?? [];
  if (others.length === 0) return { connectionString: first };
  const locator = new PrimaryLocator([first, ...others]);
  return { connectionString: first, stream: () => new PrimarySocket(locator) };
}

interface Host {
  readonly host: string;
  readonly port: number;
}

/** Finds the host that accepts writes. */
class PrimaryLocator {
  readonly #urls: readonly string[];
  #search: Promise<Host> | undefined;
  #known: { readonly host: Host; readonly until: number } | undefined;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /**
   * Callers at the same time share one search.
   *
   * @throws Error with the code ECONNREFUSED if no host accepts writes
   */
  locate(): Promise<Host> {
    if (this.#known !== undefined && performance.now() < this.#known.until) return Promise.resolve(this.#known.host);
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  /** Looks again at the next connection, because one was lost. */
  forget(): void {
    this.#known = undefined;
  }

  async #find(): Promise<Host> {
    const answers = await Promise.all(this.#urls.map(primaryAt));
    let newest: PrimaryAnswer | undefined;
    for (const answer of answers) {
      // A previous primary that returns without its successor's changes is on an earlier timeline.
      if (answer !== undefined && (newest === undefined || answer.timeline > newest.timeline)) newest = answer;
    }
    if (newest === undefined) {
      throw Object.assign(new Error("no host of the database accepts writes"), { code: "ECONNREFUSED" });
    }
    this.#known = { host: newest.host, until: performance.now() + freshMs };
    return newest.host;
  }
}

interface PrimaryAnswer {
  readonly host: Host;
  readonly timeline: string;
}

/** The timeline is the beginning of a WAL file's name: 8 hexadecimal digits. */
const question = `SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean THEN NULL
  ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline`;

/** Undefined if the host does not answer, or does not accept writes. */
async function primaryAt(url: string): Promise<PrimaryAnswer | undefined> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "gatehouse locator",
    connectionTimeoutMillis: answerTimeoutMs,
    query_timeout: answerTimeoutMs,
  });
  // A broken connection also fails the running query.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(question);
    const timeline = rows[0]?.timeline;
    return typeof timeline === "string" ? { host: { host: client.host, port: client.port }, timeline } : undefined;
  } catch {
    return undefined;
  } finally {
    // A host that hangs does not end the connection either.
    void client.end().catch(() => undefined);
  }
}

/** A socket that connects to the primary, whichever host it is given. */
class PrimarySocket extends Socket {
  readonly #locator: PrimaryLocator;

  constructor(locator: PrimaryLocator) {
    super();
    this.#locator = locator;
    this.once("close", () => locator.forget());
  }

  override connect(): this {
    this.#locator.locate().then(
      ({ host, port }) => {
        if (this.destroyed) return;
        if (host.startsWith("/")) super.connect(`${host}/.s.PGSQL.${port}`);
        else super.connect(port, host);
      },
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    );
    return this;
  }
}
