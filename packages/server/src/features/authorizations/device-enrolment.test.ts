/** The device grant that enrols a device. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unprepared } from "../../platform/db/statement.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { lockGeneration } from "../../platform/tenancy/generation.queries.ts";
import { AuthorizationWorld, minuteMs } from "../../testing/authorization-world.ts";
import { blocksIndirectly, blocksOthers } from "../../testing/held-locks.queries.ts";
import { publicKey, unique } from "../../testing/operations/test-records.ts";
import { until } from "../../testing/until.ts";

let world: AuthorizationWorld;

beforeAll(async () => {
  world = await AuthorizationWorld.start();
});
afterAll(() => world.close());

describe("the enrolment of a device", () => {
  const machine = () => ({
    client_id: "gatehouse-device",
    machine: "Laptop",
    os: "Debian GNU/Linux",
    os_version: "13",
    hardware_id: unique("Serial"),
    public_key: publicKey(),
  });

  test("shows machine, system and key, makes the device the person's, and gives its token once", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const asked = machine();
    const { body: codes } = await program.requestDevice(asked);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("authorization_pending");
    const { body: shown } = await person.post("/console/device-authorization/description", { code: codes.user_code });
    const hash = createHash("sha256").update(Buffer.from(asked.public_key, "base64")).digest("hex").toUpperCase();
    expect(shown).toMatchObject({ name: "Gatehouse device", machine: "Laptop", address: program.address });
    expect(shown.device.os).toBe("Debian GNU/Linux 13");
    expect(shown.device.keyFingerprint.replaceAll("-", "")).toBe(hash.slice(0, 20));
    expect((await person.answer(codes.user_code)).status).toBe(200);
    const { status, body } = await program.poll(codes.device_code, "gatehouse-device");
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.access_token).toMatch(/^gatehouse_device_/);
    expect(body).not.toHaveProperty("refresh_token");
    const { body: device } = await world.tenant.client.must.get(`/tenants/devices/${body.device.id}`);
    expect(device).toMatchObject({
      name: "Laptop",
      active: true,
      user: { id: person.user.id },
      os: "Debian GNU/Linux",
    });
    expect(device.publicKey).toBe(asked.public_key);
    const { body: events } = await world.tenant.client.must.get(
      `/tenants/events?filter[target.id]=${device.id}&sort=position`,
    );
    expect(
      events.data.map(({ operation, actor }: { operation: string; actor: object }) => ({ operation, actor })),
    ).toEqual(
      ["enrolDevice", "rotateDeviceToken"].map((operation) => ({
        operation,
        actor: { type: "user", id: person.user.id, name: person.user.email },
      })),
    );
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    // The token is the device's, not the person's.
    expect((await world.usersWith(body.access_token)).body.code).toBe("invalid_api_key");
  });

  test("needs an authentication in the last 15 minutes, although nothing limits the session of the device", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    world.clock.advance(15 * minuteMs + 1);
    const { body: codes } = await program.requestDevice(machine());
    const refused = await person.answer(codes.user_code);
    expect([refused.status, refused.body.code]).toEqual([401, "recent_authentication_required"]);
    expect((await (await world.newSession(person)).answer(codes.user_code)).status).toBe(200);
    expect((await program.poll(codes.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("that fails can be approved again, once its cause is gone", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const taken = machine();
    const { body: first } = await program.requestDevice(taken);
    await person.answer(first.user_code);
    const { body: second } = await program.requestDevice({ ...machine(), public_key: taken.public_key });
    expect((await person.answer(second.user_code)).body.code).toBe("device_key_taken");
    const { body: enrolled } = await program.poll(first.device_code, "gatehouse-device");
    await world.tenant.client.must.delete(`/tenants/devices/${enrolled.device.id}`);
    expect((await person.answer(second.user_code)).status).toBe(200);
    expect((await program.poll(second.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("lets a program that polls during the approval wait", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    const { server, tenant } = world;
    let approval: ReturnType<typeof person.answer> | undefined;
    await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, async ({ query }) => {
      const tx = { tenantId: tenant.id, query };
      await lockGeneration(tx);
      approval = person.answer(codes.user_code);
      await until("the approval waits", () => blocksOthers(tx));
      const { body } = await program.poll(codes.device_code, "gatehouse-device");
      expect(body.error).toBe("authorization_pending");
    });
    expect((await approval)?.status).toBe(200);
    world.clock.advance(5_000);
    expect((await program.poll(codes.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("is approved once its code is stored, even if the server crashes before it records the answer", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    expect((await person.answer(codes.user_code)).status).toBe(200);
    await world.server.database.transaction({ kind: "operator" }, ({ query }) =>
      query(unprepared("UPDATE device_requests SET answer = NULL")),
    );
    for (const approve of [true, false]) {
      const { body } = await person.post("/console/device-authorization", { code: codes.user_code, approve });
      expect(body.code).toBe("not_found");
    }
    expect((await program.poll(codes.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("is not denied during its approval", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    const { server, tenant } = world;
    const replies = await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, async ({ query }) => {
      const tx = { tenantId: tenant.id, query };
      await lockGeneration(tx);
      const approval = person.answer(codes.user_code);
      await until("the approval waits", () => blocksOthers(tx));
      const denial = person.post("/console/device-authorization", { code: codes.user_code, approve: false });
      await until("the denial waits for it", () => blocksIndirectly(tx));
      return [approval, denial];
    });
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 404]);
    expect((await program.poll(codes.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("enrols nothing if it is denied just before its approval", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    const { server, tenant } = world;
    const approval = await server.database.transaction({ kind: "operator" }, async ({ query }) => {
      const hash = hashToken(codes.device_code).toString("hex");
      await query(unprepared(`SELECT pg_advisory_xact_lock(hashtextextended('approved code ${hash}', 0))`));
      const approving = person.answer(codes.user_code);
      await until("the approval waits", () => blocksOthers({ tenantId: tenant.id, query }));
      await query(unprepared(`UPDATE device_requests SET answer = 'denied' WHERE device_code_hash = '\\x${hash}'`));
      return [approving];
    });
    expect((await Promise.all(approval))[0]?.body.code).toBe("not_found");
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("access_denied");
    const devices = await tenant.client.must.get(`/tenants/devices?filter[user.id]=${person.user.id}`);
    expect(devices.body.total).toBe(0);
  });

  test("is approved once by two pages of the person at the same time", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    const replies = await Promise.all([1, 2].map(() => person.answer(codes.user_code)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect((await program.poll(codes.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("gives no token after the person was deactivated or signed out everywhere", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    const { body: codes } = await program.requestDevice(machine());
    await person.answer(codes.user_code);
    await world.tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
  });

  test("waits for an administrator if the tenant says so", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson([])];
    await world.tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const enrol = async () => {
      const { body: codes } = await program.requestDevice(machine());
      await person.answer(codes.user_code);
      return (await program.poll(codes.device_code, "gatehouse-device")).body;
    };
    const [approved, refused] = [await enrol(), await enrol()];
    await world.tenant.client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    expect(approved.device.approval).toBe("pending");
    const path = `/tenants/devices/${approved.device.id}`;
    expect((await world.tenant.client.get(path)).body).toMatchObject({
      active: false,
      status: "Deactivated",
      approval: "pending",
    });
    const pending = await world.tenant.client.must.get("/tenants/devices?filter[approval]=pending&sort=createdAt");
    expect(pending.body.data.map(({ id }: { id: string }) => id)).toEqual([approved.device.id, refused.device.id]);
    const { body: device } = await world.tenant.client.must.post(`${path}/reactivate`);
    expect(device.active).toBe(true);
    expect(device).not.toHaveProperty("approval");
    await world.tenant.client.must.delete(`/tenants/devices/${refused.device.id}`);
    // A device that is deactivated later does not wait again.
    await world.tenant.client.must.patch(`${path}/deactivate`);
    expect((await world.tenant.client.get(path)).body).not.toHaveProperty("approval");
    expect((await world.tenant.client.get("/tenants/devices?filter[approval]=pending")).body.data).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ["an invalid key", { public_key: "abc" }],
    ["no hardware id", { hardware_id: "" }],
    ["a system that turns text around", { os: "Debian\u202e" }],
    ["no name", { machine: " " }],
  ])("refuses %s", async (_what, changes) => {
    expect((await world.newProgram().requestDevice({ ...machine(), ...changes })).body.error).toBe("invalid_request");
  });

  test("signs nobody in: its codes give no session, and its program cannot use a redirect", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const { body: codes } = await program.requestDevice(machine());
    await person.answer(codes.user_code);
    expect((await program.poll(codes.device_code)).body.error).toBe("invalid_grant");
    const reply = await person.approve(program.request({ client_id: "gatehouse-device" }));
    expect(reply.body.code).toBe("invalid_parameter");
  });
});
