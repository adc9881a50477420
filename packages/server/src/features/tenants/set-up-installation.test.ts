import pg from "pg";
import { expect, test } from "vitest";
import { createDatabase } from "../../testing/test-database.ts";
import { startTestServer } from "../../testing/test-server.ts";

test("the first start leaves one entry of the first tenant in the operator's record, and later starts none", async () => {
  const { connection, drop } = await createDatabase();
  for (let start = 0; start < 2; start += 1) await (await startTestServer({ connection })).close();
  const owner = new pg.Client(connection);
  await owner.connect();
  const { rows } = await owner.query("SELECT operation, actor_type, after ->> 'name' AS name FROM operator_events");
  await owner.end();
  await drop();
  expect(rows).toEqual([{ operation: "setUpInstallation", actor_type: "system", name: "First tenant" }]);
});
