/** The state of a device session, and the reason of its end. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../messages/i18n.ts";
import { RelativeTime } from "./relative-time.tsx";
import { Status, type Tone } from "./status.tsx";

export type DeviceSession = ItemAt<"/tenants/device-sessions">;

const tones: Readonly<Record<DeviceSession["state"], Tone>> = { active: "good", expired: "waiting", ended: "idle" };

/** The time may have passed since the server answered. */
function stateOfSession({ state, endsAt }: DeviceSession, now: number): DeviceSession["state"] {
  return state === "active" && endsAt !== undefined && Date.parse(endsAt) <= now ? "expired" : state;
}

export function StateOfDeviceSession({ session }: { readonly session: DeviceSession }) {
  const state = stateOfSession(session, Date.now());
  return <Status tone={tones[state]}>{t(`deviceSessions.states.${state}`)}</Status>;
}

export function EndOfDeviceSession({ session: { endsAt } }: { readonly session: DeviceSession }) {
  return endsAt === undefined ? t("deviceSessions.noEnd") : <RelativeTime at={endsAt} />;
}

/** The reason and the author of the end; undefined unless the session was ended before its time. */
export function formatSessionEnd(session: DeviceSession): string | undefined {
  const { endReason, endedBy } = session;
  // Without a lifetime, the trust in the device outlasts the end of a session, such as that of a sign-out.
  if (endReason === undefined || stateOfSession(session, Date.now()) === "active") return undefined;
  const reason = t(`deviceSessions.reasons.${endReason}`);
  // The provider signs people out by itself.
  if (endedBy === undefined || endedBy.type === "system") return reason;
  return t("deviceSessions.reasonBy", { reason, name: endedBy.name });
}
