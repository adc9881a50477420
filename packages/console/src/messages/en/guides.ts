/** The guides: documents that the console shows. */
export const guides = {
  names: {
    access: "Access: previews, tests and decisions",
    "access-impact": "How the access effect is computed",
    "change-sets": "Change sets",
    "command-line": "The command line",
    configuration: "Configuration of the server",
    console: "Console",
    declarative: "A tenant as a file",
    deployment: "Deployment",
    device: "Devices",
    gateway: "Gateways",
    glossary: "Glossary",
    "identity-providers": "Identity providers",
    invitations: "Inviting people",
    keys: "Keys",
    operations: "Operations",
    revert: "Reverting events",
    sizing: "Sizing",
    tour: "A tour in ten minutes",
    webhooks: "Webhooks",
  },
  title: "Guides",
  unknown: {
    text: "There is no guide with this name. The list of guides shows all of them.",
    title: "Unknown guide",
  },
} as const;
