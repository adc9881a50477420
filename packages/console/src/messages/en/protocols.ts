export const protocols = {
  create: "Create protocol",
  delete: {
    effect:
      "Gatehouse refuses to delete a protocol that an address uses, so that the deletion never changes anyone's access.",
    title: "Delete protocol {{name}}?",
  },
  empty: {
    text: "A protocol defines the ports of an address that devices can reach. Create one for ports that no predefined protocol covers.",
    title: "No protocols yet",
  },
  fields: {
    addPorts: "Add ports",
    kind: "Kind",
    nameHelp: "Leave empty to derive the name from the ports, such as TCP/8443.",
    portNone: "ICMP has no ports",
    portPlaceholder: "All ports, 443, or 5000-5100",
    ports: "Ports",
    portsLine: "Ports {{number}}",
    protocolLine: "Protocol {{number}}",
    protocolsAndPorts: "Protocols and ports",
    removeLine: "Remove line {{number}}",
  },
  immutable: "The ports of a protocol cannot be changed. Create another protocol and use it for the addresses instead.",
  kinds: {
    ALL: "All traffic",
    CUSTOM: "Custom",
    PREDEFINED: "Predefined",
  },
  noun: "protocols",
  predefined: "Every tenant has this protocol. You cannot change or delete it.",
  resources: "Resources with this protocol ({{count, number}})",
  resourcesEmpty: "No resources yet. Select the protocol for an address of a resource.",
  searchLabel: "Name or port",
  title: "Protocols",
} as const;
