import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { Status } from "../../records/status.tsx";

export type EnrolmentKey = ResultOf<"/tenants/enrolment-keys/{id}", "get">;

/** The time may have passed since the server answered. */
export function stateOfKey({ status, expiresAt }: EnrolmentKey, now: number): EnrolmentKey["status"] {
  return status !== "revoked" && Date.parse(expiresAt) <= now ? "expired" : status;
}

export function StateOfEnrolmentKey({ enrolmentKey }: { readonly enrolmentKey: EnrolmentKey }) {
  const state = stateOfKey(enrolmentKey, Date.now());
  return <Status tone={state === "active" ? "good" : "idle"}>{t(`enrolmentKeys.state.${state}`)}</Status>;
}
