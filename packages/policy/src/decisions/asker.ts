import type { CompiledUser } from "../model/compiled-user.ts";
import type { DeviceFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { markOf, type Source } from "../model/source.ts";
import type { DecisionReason } from "./decision.ts";
import type { Subject } from "./request.ts";

/** Who asks, as found in the model: a user, with or without a device, or a site. */
export class Asker implements Source {
  readonly userId: string;
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  readonly marks: number;
  /** Undefined for traffic that enters at a site. */
  readonly user: CompiledUser | undefined;
  readonly device: DeviceFacts | undefined;
  /** Names the subject, for the spread over gateways. */
  readonly key: string;
  readonly #model: Model;
  readonly #subject: Subject;

  constructor(model: Model, subject: Subject, user: CompiledUser | undefined, device: DeviceFacts | undefined) {
    this.#model = model;
    this.#subject = subject;
    this.user = user;
    this.device = device;
    this.userId = user === undefined ? "" : user.facts.id;
    this.groupIds = user === undefined ? noGroups : user.groupIdsIn(model.groups);
    this.deviceId = device?.id;
    this.marks = (user === undefined ? 0 : user.marksIn(model.groups)) | (device === undefined ? 0 : markOf(device.id));
    this.key = device?.id ?? (subject.kind === "site" ? subject.gatewayId : this.userId);
  }

  /** The variables `user` and `device` of admission rules; absent ones are left out. */
  forRules(): { readonly user?: object; readonly device?: object } {
    const { user, device } = this;
    const subject = this.#subject;
    if (user === undefined || subject.kind === "site") return {};
    const { groups } = this.#model;
    const { attributes, posture } = subject;
    const ofUser = attributes === undefined ? user.forRulesIn(groups) : user.forRulesWith(attributes, groups);
    if (device === undefined) return { user: ofUser };
    const { name, os, osVersion, appVersion, hardwareId } = device;
    const facts = new Map(Object.entries(posture ?? device.posture));
    return { user: ofUser, device: { name, os, osVersion, appVersion, hardwareId, posture: facts } };
  }
}

const noGroups: readonly string[] = [];

/** Finds who asks, or why that subject may reach nothing at all (contract, "Policy evaluation", step 1). */
export function askerOf(model: Model, subject: Subject): Asker | DecisionReason {
  switch (subject.kind) {
    case "site":
      if (model.gateways.get(subject.gatewayId) === undefined) return "unknown_gateway";
      return new Asker(model, subject, undefined, undefined);
    case "device": {
      const device = model.devices.get(subject.deviceId);
      if (device === undefined) return "unknown_device";
      if (device.userId === null) return "device_without_user";
      const user = usableUser(model, device.userId);
      if (typeof user === "string") return user;
      return device.active ? new Asker(model, subject, user, device) : "device_inactive";
    }
    case "user": {
      const user = usableUser(model, subject.userId);
      if (typeof user === "string") return user;
      if (subject.deviceId === undefined) return new Asker(model, subject, user, undefined);
      const device = model.devices.get(subject.deviceId);
      if (device === undefined) return "unknown_device";
      if (device.userId !== subject.userId) return "device_of_another_user";
      return device.active ? new Asker(model, subject, user, device) : "device_inactive";
    }
  }
}

function usableUser(model: Model, id: string): CompiledUser | DecisionReason {
  const user = model.users.get(id);
  if (user === undefined) return "unknown_user";
  if (user.facts.status === "inactive") return "user_inactive";
  return user.facts.status === "pending" ? "user_pending" : user;
}
