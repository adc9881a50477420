/** The own access of the signed-in person, with reasons. */
import type * as operations from "@gatehouse/contract/operations/my.operations";
import { explainingOwn, ownAccess } from "@gatehouse/policy/decisions/explain-own";
import type { Destination, Subject } from "@gatehouse/policy/decisions/request";
import { AppError } from "../../platform/app-error.ts";
import { requirePerson } from "../../platform/authorization/recent-authentication.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { type Outcome, report } from "../../platform/outcome.ts";
import type { TenantModel } from "../../platform/tenancy/tenant-models.ts";
import { readDevicesOfUser } from "../devices/devices.api.ts";
import { myAnswer, myResource, type OwnDevice } from "./my-access.view.ts";

export async function listMyAccess(call: Call<typeof operations.listMyAccess>): Promise<Outcome> {
  const { tenant, userId, subject, devices, sourceIp } = await asking(call, call.queryParameter("device"));
  const search = call.queryParameter("search")?.toLowerCase();
  const request = { subject, sourceIp, now: call.now.getTime() };
  const found = await call.evaluateForPerson(
    userId,
    "Your access",
    ownAccess(tenant.model, request, [...devices.keys()]),
  );
  const shown = found.filter(({ resource: { facts } }) => {
    const texts = [facts.name, ...facts.addresses.map(({ address }) => address)];
    return search === undefined || texts.some((text) => text.toLowerCase().includes(search));
  });
  const { offset, limit } = call.listQuery;
  const items = shown.slice(offset, offset + limit).map(myResource);
  return { kind: "page", page: pageOfItems(call.listQuery, items, shown.length) };
}

export async function explainMyAccess(call: Call<typeof operations.explainMyAccess>): Promise<Outcome> {
  const { tenant, userId, subject, devices, sourceIp } = await asking(call, call.body.device);
  const destination = destinationOf(tenant, call.body.to.trim());
  const request = { subject, destination, sourceIp, now: call.now.getTime() };
  const explained = await call.evaluateForPerson(
    userId,
    "Your access",
    explainingOwn(tenant.model, request, [...devices.keys()]),
  );
  const answer = report(myAnswer(explained, devices));
  // The answer to a POST is stored for a repeated request.
  return call.idempotency === undefined ? answer : call.command(async () => answer);
}

type AskingCall = Pick<Call<typeof operations.listMyAccess>, "session" | "model" | "read" | "origin">;

interface Asking {
  readonly tenant: TenantModel;
  readonly userId: string;
  readonly subject: Subject;
  /** The person's devices: names and whether they wait for an approval, by id. */
  readonly devices: ReadonlyMap<string, OwnDevice>;
  readonly sourceIp: string | undefined;
}

/** @throws AppError not_found for a device that is not the person's */
async function asking(call: AskingCall, asked: string | undefined): Promise<Asking> {
  const { userId } = requirePerson(call);
  const deviceId = asked?.toLowerCase();
  const [tenant, rows] = await Promise.all([call.model(), call.read((tx) => readDevicesOfUser(tx, userId))]);
  const devices = new Map(
    rows.map(({ device: { id, name, approval_pending: isPending, agent: hasAgent } }) => [
      id,
      { name, isPending, hasAgent, asks: id === deviceId },
    ]),
  );
  if (deviceId !== undefined && !devices.has(deviceId)) throw new AppError("not_found");
  const subject: Subject = { kind: "user", userId, ...(deviceId === undefined ? {} : { deviceId }) };
  return { tenant, userId, subject, devices, sourceIp: call.origin.sourceAddress };
}

/** A resource by its id or name, or else an address. */
export function destinationOf(tenant: TenantModel, text: string): Destination {
  const resourceId = tenant.model.resources.get(text.toLowerCase())?.facts.id ?? tenant.resourceIdOf(text);
  return resourceId === undefined ? { kind: "address", address: text } : { kind: "resource", resourceId };
}
