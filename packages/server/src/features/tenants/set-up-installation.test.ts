import pg from "pg";
import { expect, inject, test } from "vitest";
import { migrate } from "../../platform/db/migrations.ts";
import { createDatabase } from "../../testing/database-setup.ts";
import { startTestServer } from "../../testing/test-server.ts";

test("the first start records the first tenant in the operator's record, and later starts record nothing", async () => {
  const { connection, drop } = await createDatabase(inject("server"));
  await migrate(connection);
  for (let start = 0; start < 2; start += 1) await (await startTestServer({ connection })).close();
  const owner = new pg.Client(connection);
  await owner.connect();
  const { rows } = await owner.query("SELECT operation, actor_type, after ->> 'name' AS name FROM operator_events");
  await owner.end();
  await drop();
  expect(rows).toEqual([{ operation: "setUpInstallation", actor_type: "system", name: "First tenant" }]);
});
