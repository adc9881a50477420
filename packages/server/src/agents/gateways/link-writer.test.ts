import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createLog } from "../../platform/log.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { nothingApplied } from "./link-recorder.ts";
import { LinkWriter } from "./link-writer.ts";

const replicas = linkedReplicas();

test("a connection whose token is refused does not discard the pending state of the current connection", async () => {
  const { id, gateway } = await replicas.newGateway();
  const writer = new LinkWriter({
    tenantId: replicas.tenant.id,
    replicaId: randomUUID(),
    runner: replicas.server.runner,
    clock: systemClock,
    log: createLog("silent"),
    superseded: () => undefined,
  });
  const claim = (token: string) => {
    const connection = { gateway_id: id, connection_id: randomUUID(), token_hash: hashToken(token).toString("hex") };
    const ends = writer.claim({ ...connection, replica_id: randomUUID(), ...nothingApplied });
    return { ends, connectionId: connection.connection_id };
  };
  const rightful = claim(gateway.token);
  expect(await rightful.ends).toBe(Number.POSITIVE_INFINITY);
  writer.change({ gateway_id: id, connection_id: rightful.connectionId, wanted_root: "wanted" }, false);
  expect(await claim("gatehouse_gw_revoked").ends).toBe(0);
  await writer.stop();
  expect(await replicas.rowOf(id)).toMatchObject({ connection_id: rightful.connectionId, wanted_root: "wanted" });
});
