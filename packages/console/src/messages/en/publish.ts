/** The page that publishes a resource. */
export const publish = {
  address: {
    allPorts: "{{address}}, all ports",
    help: "A URL, a host with a port, or a network: https://wiki.internal, wiki.internal:443, 10.0.0.0/16",
    invalid: "This is not an address. Enter a URL, a host name, an IP address or a CIDR block.",
    label: "Address",
    port: "{{address}}, {{protocol}} (TCP {{port}})",
  },
  conditions: {
    disk: "The device's disk is encrypted",
    hours: "Only Monday to Friday, {{from}}:00–{{to}}:00 ({{zone}})",
    title: "Conditions",
  },
  done: {
    again: "Publish another",
    deploy: "Deploy the new gateway next. People can connect as soon as it is online.",
    text: "People can connect as soon as a gateway of the resource is online.",
    title: "{{name}} is published",
    toGateway: "Deploy gateway",
    toResource: "Open {{name}}",
  },
  effect: "Effect of publishing {{name}}",
  gateway: {
    help: "Deploy the gateway on a machine that can reach the address.",
    label: "Gateway",
    name: "Name of the new gateway",
    new: "New gateway…",
  },
  notPermitted: "Your key cannot publish resources. It lacks {{permissions}}.",
  numberedName: "{{name}} ({{number}})",
  policyName: "Access to {{name}}",
  publish: "Publish",
  resource: {
    label: "Resource",
    missing: "Select a resource.",
  },
  ruleName: "Conditions for {{name}}",
  summary: {
    address: "Address:",
    newGateway: "Gateway {{name}} is created. Deploy it afterwards.",
    policyLater: "People can reach the resource once a policy allows it. You can create the policy later.",
  },
  text: "Make a service or a network reachable for the people who need it. Nothing changes before you confirm.",
  through: "Gateway",
  title: "Publish a resource",
  where: "Resource",
  who: {
    everyone: "All users",
    groups: "Groups",
    missing: "Select at least one group, or all users.",
    title: "People",
  },
} as const;
