export const devices = {
  activation: "Activation",
  deactivate: {
    done: "Device deactivated. It is disconnected.",
    label: "Deactivate",
    note: "The device is disconnected immediately. Its record and its place in policies stay, and you can reactivate it.",
    title: "Deactivate device {{name}}?",
  },
  delete: {
    effect:
      "The device is disconnected and must be enrolled again. Policies no longer refer to it. If you revert the deletion, the device gets a new ID.",
    title: "Delete device {{name}}?",
  },
  empty: {
    text: "Invite a user first. The agent on the user's device creates a key pair and enrols the device. Enrolled devices appear here automatically.",
    title: "No devices yet",
  },
  fields: {
    agent: "Agent version",
    enrolled: "Enrolled",
    hardwareId: "Hardware ID",
    lastConnection: "Last connection",
    publicKey: "Public key",
    system: "Operating system",
    user: "User",
  },
  noUser: "No user",
  noun: "devices",
  posture: "Posture",
  postureEmpty: "The device has not reported its posture.",
  reactivate: {
    done: "Device reactivated",
    label: "Reactivate",
    note: "The device regains the access that policies grant, unless its user is deactivated.",
    title: "Reactivate device {{name}}?",
  },
  title: "Devices",
} as const;
