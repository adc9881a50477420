/** The state of a device session, and the reason of its end. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";
import { RelativeTime } from "./relative-time.tsx";
import { Status, type Tone } from "./status.tsx";

export type DeviceSession = ItemAt<"/tenants/device-sessions">;
type State = DeviceSession["state"];
type Device = ItemAt<"/tenants/devices">;

const tones: Readonly<Record<State, Tone>> = {
  active: "good",
  "not-signed-in": "idle",
  pending: "waiting",
  expired: "waiting",
  ended: "idle",
};

/** The time may have passed since the server answered. */
function stateOfSession({ state, endsAt }: Pick<DeviceSession, "state" | "endsAt">, now: number): State {
  const isTrusted = state === "active" || state === "not-signed-in";
  return isTrusted && endsAt !== undefined && Date.parse(endsAt) <= now ? "expired" : state;
}

/** The state of the session of a device, as the list of sessions has it. Undefined if the device has no session. */
export function sessionStateOf({ approval, enrolmentKey, session, status, user }: Device): State | undefined {
  if (enrolmentKey !== undefined || user === undefined) return undefined;
  if (approval !== undefined) return "pending";
  const isOver = session?.endsAt !== undefined && Date.parse(session.endsAt) <= Date.now();
  if (isOver) return session.ended === true ? "ended" : "expired";
  const isDeactivated = status === "Deactivated";
  // If no lifetime is set, a deactivation ends the session only until the reactivation.
  if (isDeactivated && session?.ended === true) return "ended";
  if (session?.signedInAt !== undefined) return "active";
  return isDeactivated ? undefined : "not-signed-in";
}

export function StateOfDeviceSession({ session }: { readonly session: Pick<DeviceSession, "state" | "endsAt"> }) {
  const state = stateOfSession(session, Date.now());
  return <Status tone={tones[state]}>{t(`deviceSessions.states.${state}`)}</Status>;
}

/** Only a session that has begun can have no end. */
export function EndOfDeviceSession({ session }: { readonly session: Pick<DeviceSession, "state" | "endsAt"> }) {
  return <RelativeTime at={session.endsAt} never={session.state === "active" ? t("deviceSessions.noEnd") : "–"} />;
}

/** The reason and the author of the end; undefined unless the session was ended before its time. */
export function formatSessionEnd(session: DeviceSession): string | undefined {
  const { endReason, endedBy } = session;
  const state = stateOfSession(session, Date.now());
  // Without a lifetime, the trust in the device outlasts the end of a session, such as that of a sign-out.
  if (endReason === undefined || (state !== "ended" && state !== "expired")) return undefined;
  const reason = t(`deviceSessions.reasons.${endReason}`);
  // The provider signs people out by itself.
  if (endedBy === undefined || endedBy.type === "system") return reason;
  return t("deviceSessions.reasonBy", { reason, name: endedBy.name });
}
