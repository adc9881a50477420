import type { Model } from "../model/model.ts";
import { Principal } from "../model/principal.ts";
import type { DecisionReason } from "./decision.ts";
import type { Subject } from "./request.ts";

/** Finds who asks, or why that subject may reach nothing at all (contract, "Policy evaluation", step 1). */
export function resolvePrincipal(model: Model, subject: Subject): Principal | DecisionReason {
  switch (subject.kind) {
    case "site":
      return model.gateways.get(subject.gatewayId) === undefined
        ? "unknown_gateway"
        : Principal.site(subject.gatewayId);
    case "device": {
      const device = model.devices.get(subject.deviceId);
      if (device === undefined) return "unknown_device";
      if (device.userId === null) return "device_without_user";
      return usable(device.principalIn(model.users, model.groups));
    }
    case "user": {
      const { userId, deviceId } = subject;
      if (deviceId === undefined) return usable(model.users.get(userId)?.principalIn(model.groups));
      const device = model.devices.get(deviceId);
      if (device?.userId === userId) return usable(device.principalIn(model.users, model.groups));
      const user = usable(model.users.get(userId)?.principalIn(model.groups));
      if (typeof user === "string") return user;
      return device === undefined ? "unknown_device" : "device_of_another_user";
    }
  }
}

function usable(principal: Principal | undefined): Principal | DecisionReason {
  if (principal === undefined) return "unknown_user";
  if (principal.isActive) return principal;
  const status = principal.user?.status;
  if (status === "inactive") return "user_inactive";
  return status === "pending" ? "user_pending" : "device_inactive";
}
