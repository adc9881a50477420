/** The facts that a device lacks for access, in words for the person at the device. */
import type { MyMissingFact } from "@gatehouse/contract/records/my-access";
import { unspecifiedSource } from "@gatehouse/policy/enforcement/device-sources";

const longestText = 2000;

const texts = {
  not_granted: "Nothing gives you access to it, or it does not exist. Ask your administrator for access.",
  denied: "Your organisation blocks it for you. Ask your administrator if you need it.",
  no_gateway: "You may connect, but no gateway can carry the traffic now. Try again later.",
  device_required: "It is available only from a device.",
  device_pending: "This device is awaiting approval by an administrator.",
  device_deactivated: "This device is deactivated. Ask your administrator.",
  agent_required: "It requires a device with the Gatehouse agent.",
  session_ended: "The session of this device has ended. Sign in again.",
  sign_in_again:
    "It requires a more recent sign-in, or a sign-in with another method. Sign in again: sudo gatehouse-device sign-in",
  person_inactive: "Your account is not active. Ask your administrator.",
  port: "It is not available on this port.",
} as const;

const conditions = {
  device: "This device does not meet a condition of your organisation.",
  person: "Your account does not meet a condition of your organisation. Ask your administrator.",
  place: "It is not available from your current location.",
  time: "It is not available at this time.",
} as const;

/** @param sourceAddress where the device was last observed */
export function missingText(fact: MyMissingFact, sourceAddress: string | undefined): string {
  return wordsOf(fact, sourceAddress).slice(0, longestText);
}

function placeOf(sourceAddress: string | undefined): string {
  if (sourceAddress === undefined) return "";
  const isHidden = Object.values<string>(unspecifiedSource).includes(sourceAddress);
  return isHidden ? " A gateway hides the network of this device." : ` This device is at ${sourceAddress}.`;
}

function wordsOf(fact: MyMissingFact, sourceAddress: string | undefined): string {
  const { kind, devices = [], networks = [], about = "person", condition, negated = false } = fact;
  switch (kind) {
    case "other_device":
      return `It is available only from another device of yours: ${devices.join(", ")}.`;
    case "network": {
      return `It is available only from certain networks: ${networks.join(", ")}.${placeOf(sourceAddress)}`;
    }
    case "condition":
      if (condition === undefined) return conditions[about];
      return `${conditions[about]} ${negated ? "Not allowed" : "Required"}: ${condition}`;
    default:
      return texts[kind];
  }
}
