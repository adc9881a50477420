/** Settings of the tenant as a whole, and the key that signs configurations. */
export const settings = {
  agents: "Gateways and devices",
  agentsNote:
    "Gateways and devices that cannot reach the control plane drop all traffic once their configuration expires.",
  editAgents: "Edit settings of gateways and devices",
  editAgentsTitle: "Settings of gateways and devices",
  editSignIn: "Edit sign-in settings",
  editSignInTitle: "Sign-in settings",
  fields: {
    configurationLifetime: "Agent configuration lifetime",
    configurationLifetimeHelp:
      "How long gateways and devices enforce a configuration without the control plane: 10 minutes to 7 days. After that, they drop all traffic. A change sends new configurations to all of them.",
    deviceApproval: "New devices need approval",
    deviceApprovalHelp:
      "Devices that people enrol by signing in wait for an administrator. A change does not affect devices that already exist.",
    deviceSessionLifetime: "Device session lifetime",
    deviceSessionLifetimeHelp:
      "How long a device is trusted after its user signs in on it: 15 minutes to a year. Leave empty for no limit. A group can have a shorter lifetime. When you first set a lifetime, existing devices are trusted for that time from then on. If you shorten it, older device sessions end at once. Upgrade gateways first.",
    sessionIdleTime: "Console session idle time",
    sessionIdleTimeHelp: "A session ends after this time without a request: 5 minutes to 30 days.",
    sessionLifetime: "Console session lifetime",
    sessionLifetimeHelp: "The maximum duration of a session: 5 minutes to 30 days.",
    singleSignOnOnly: "Single sign-on only",
    singleSignOnOnlyHelp:
      "People sign in only through identity providers. Recovery codes still work, so that the owner is never locked out.",
  },
  fixedNames: "The names of an organisation cannot be changed.",
  groupsDiffer: "Groups can have shorter lifetimes for their members.",
  id: "Organisation ID (tenant ID in the API)",
  shortName: "Short name for sign-in",
  signIn: "Sign-in",
  signingKey: {
    reason: "Reason",
    reasonHelp: "Optional. The event of the rotation contains it.",
    rotate: "Rotate signing key",
    rotated: "Key rotated. The new public key:",
    text: "Gateways and devices accept only configurations that this key signs. After a rotation, connected agents reconnect and switch to the new key by themselves; others switch when they connect again.",
    title: "Agent configuration signing key",
  },
  stillAwaiting_one:
    "{{count, number}} device that was enrolled while approval was required still <link>awaits approval</link>.",
  stillAwaiting_other:
    "{{count, number}} devices that were enrolled while approval was required still <link>await approval</link>.",
  tenant: "Organisation",
  title: "Settings",
  unlimited: "No limit",
} as const;
