export const addresses = {
  add: "Add address",
  addTitle: "Add an address to a resource",
  delete: {
    effect: "The address no longer leads to its resource. You can revert the deletion.",
    title: "Delete address {{name}}?",
  },
  edit: "Edit {{name}}",
  empty: {
    text: "An address is where devices reach a resource. Add the first one here or on the page of its resource.",
    title: "No addresses yet",
  },
  fields: {
    address: "Address",
    answersWithin: "DNS answers within",
    answersWithinDefault: "Networks of the gateway, or any address",
    kind: "Kind",
    kindIp: "IP address",
    kindIpNetwork: "IP address or network",
    kindName: "Name",
    protocols: "Protocols",
    resource: "Resource",
  },
  gateways: "Gateways for this address ({{count, number}})",
  gatewaysEmpty: "No gateways. Connect a gateway on the page of the resource.",
  noun: "addresses",
  submit: "Add",
  title: "Addresses",
} as const;
