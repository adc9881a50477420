/** The cost of the fence: the same read with and without BEGIN, the tenant's setting and COMMIT around it. */
import { Database } from "@gatehouse/server/platform/db/database";
import { statement } from "@gatehouse/server/platform/db/statement";
import pg from "pg";

const text = "SELECT id, name, type, description FROM resources WHERE tenant_id = $1 AND id = $2";
const readOne = statement<{ id: string }, [tenantId: string, id: string]>("bench.read_one", text);

export interface FenceResult {
  readonly fencedPerSecond: number;
  readonly unfencedPerSecond: number;
}

const workers = 10;
const roundMs = 2_000;
const rounds = 4;

async function throughput(work: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + roundMs;
  let done = 0;
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (performance.now() < end) {
        await work();
        done += 1;
      }
    }),
  );
  return (done * 1000) / roundMs;
}

/** Alternates between the two reads, so that fluctuations of the machine affect both equally. */
export async function measureFence(
  connection: pg.ClientConfig,
  tenantId: string,
  resourceId: string,
): Promise<FenceResult> {
  const database = new Database({ connection, poolSize: workers });
  const pool = new pg.Pool({ ...connection, max: workers });
  // `pool.end` does not wait until its connections are closed, and the database may stop first.
  pool.on("error", () => undefined);
  const fenced = () =>
    database.snapshot({ kind: "tenant", tenantId }, (transaction) => transaction.query(readOne, tenantId, resourceId));
  // The owner's connection: no transaction, no role, no row-level security.
  const unfenced = () => pool.query({ name: "bench.unfenced", text, values: [tenantId, resourceId] });
  const sums = { fenced: 0, unfenced: 0 };
  try {
    await throughput(fenced);
    await throughput(unfenced);
    for (let round = 0; round < rounds; round += 1) {
      sums.fenced += await throughput(fenced);
      sums.unfenced += await throughput(unfenced);
    }
  } finally {
    await database.close();
    await pool.end();
  }
  return { fencedPerSecond: sums.fenced / rounds, unfencedPerSecond: sums.unfenced / rounds };
}
