export const protocols = {
  create: "Create protocol",
  delete: {
    effect: "Gatehouse refuses to delete a protocol that an address uses. The deletion never changes anyone’s access.",
    title: "Delete protocol “{{name}}”?",
  },
  empty: {
    text: "A protocol defines the ports of an address that devices can reach. Create one for ports that no built-in protocol covers.",
    title: "No protocols yet",
  },
  fields: {
    addPorts: "Add another protocol",
    kind: "Type",
    nameExample: "Metrics",
    nameHelp: "Leave empty to derive the name from the ports, such as TCP/8443.",
    portNone: "ICMP has no ports",
    portPlaceholder: "All ports",
    port: "Port or range",
    portLine: "Port or range {{number}}",
    portsHelp:
      "Each line has one port such as 443, one range such as 5000-5100, or nothing for all ports. You cannot change the ports later.",
    protocol: "Protocol",
    protocolLine: "Protocol {{number}}",
    protocolsAndPorts: "Protocols and ports",
    removeLine: "Remove line {{number}}",
  },
  immutable:
    "The ports of a protocol cannot be changed. Create another protocol, and select that one for the addresses of the resources instead.",
  kinds: {
    builtIn: "Built-in",
    custom: "Custom",
  },
  noun: "protocols",
  predefined: "Every organisation has this protocol. You cannot change or delete it.",
  resources: "Resources that use this protocol ({{count, number}})",
  resourcesEmpty: "An address accepts the protocols that are selected for it. Publish a resource with this protocol.",
  searchLabel: "Name or port",
  title: "Protocols",
} as const;
