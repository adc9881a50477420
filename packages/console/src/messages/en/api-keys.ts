export const apiKeys = {
  create: "Create API key",
  created: {
    text: "Configure the key in the program that uses it. The program sends the key in the header <code>apikey</code>.",
    title: "API key “{{name}}”",
  },
  empty: {
    text: "Programs and administrators use API keys to call the API. Create the first key with only the permissions that it needs.",
    title: "No API keys yet",
  },
  fields: {
    anyAddress: "Any address",
    createdBy: "Created by",
    expires: "Expires",
    expiresHelp: "Leave empty for a key that never expires.",
    expiresIn: {
      days: "{{count, number}} days",
      never: "Never",
    },
    inUse: "In use",
    inUseText: "Your session uses this key.",
    lastUsed: "Last used",
    nameExample: "Terraform",
    nameHelp: "Name the key after the person or the program that uses it.",
    permissions: "Permissions",
    prefix: "Prefix",
    replacedBy: "Replaced by",
    replacedByLink: "the new key",
    sourceIps: "Source addresses",
    sourceIpsHelp: "Restrict the key to these addresses. Leave empty for any address.",
  },
  noun: "API keys",
  presets: {
    infrastructure: "Infrastructure as code",
    infrastructureAbout:
      "“Infrastructure as code” is for tools such as Terraform. It permits managing the network and access to it, also with a configuration file, but not managing users.",
    label: "Start from a preset. Presets with the name of a role have the permissions of that role.",
    none: "Clear",
  },
  revoke: {
    effect: "The key and all sessions that use it will stop working immediately. You cannot undo this.",
    effectOwn:
      "The key and all sessions that use it will stop working immediately. Your own session uses this key, so you need another key to sign in. You cannot undo this.",
    label: "Revoke",
    title: "Revoke API key “{{name}}”?",
  },
  rotate: {
    label: "Rotate",
    text: "Configure the new key in the programs that use the previous one.",
    title: "Rotate “{{name}}”",
    titleNew: "New key for “{{name}}”",
  },
  searchLabel: "Name or prefix",
  state: {
    active: "Active",
    expired: "Expired",
    label: "Status",
    replaced: "Replaced",
    replacedStillValid: "Replaced, still valid",
  },
  title: "API keys",
} as const;
