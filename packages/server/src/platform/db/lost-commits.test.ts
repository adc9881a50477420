import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { Database } from "./database.ts";
import { unprepared } from "./statement.ts";

const insert = unprepared<never, [name: string]>("INSERT INTO installation (name, value) VALUES ($1, '')");
const failing = unprepared<never, []>("SELECT 1 / 0");
const scope = { kind: "operator" } as const;
/** Like errors of TLS, it has no code of a network error. */
const broken = Object.assign(new Error("broken record"), { code: "EPROTO" });
let socket: Socket;
let database: Database;

beforeEach(() => {
  socket = new Socket();
  database = new Database({ connection: { ...inject("database"), stream: () => socket }, poolSize: 1 });
});
afterEach(() => database.close());

/** Breaks the connection after the messages of this turn were sent, before an answer arrives. */
async function breakConnection(): Promise<void> {
  socket.pause();
  setImmediate(() => socket.destroy(broken));
}

test("a transaction whose commit was not answered fails as one that may have committed", async () => {
  const work = database.transaction(scope, (tx) => tx.query(insert, randomUUID()), breakConnection);
  await expect(work).rejects.toMatchObject({ code: "database_unavailable", cause: { cause: broken } });
});

test("a transaction that had failed before its commit fails with its error", async () => {
  const work = database.transaction(
    scope,
    (tx) => tx.query(insert, randomUUID()),
    async (tx) => {
      await tx.query(failing).finally(breakConnection);
    },
  );
  await expect(work).rejects.toMatchObject({ code: "22012" });
});
