export const gateways = {
  create: "Create gateway",
  delete: {
    effect_one:
      "{{count}} resource is no longer reachable through this gateway, and the gateway's token stops working. If you revert the deletion, the gateway gets a new ID.",
    effect_other:
      "{{count}} resources are no longer reachable through this gateway, and the gateway's token stops working. If you revert the deletion, the gateway gets a new ID.",
    title: "Delete gateway {{name}}?",
  },
  deploy: {
    copy: "Copy command with token",
    instructions:
      "Run this as root on the gateway host: a Linux machine with <code>gatehouse-gateway</code> installed.",
    noPermission:
      "The command contains the gateway's token, which your key cannot view. Ask someone whose key has the permission <code>gateways:token</code>.",
    plainHttp: "You're on plain HTTP. Gateways should use your public HTTPS address.",
    title: "Deploy",
    waiting: "Waiting for the gateway to connect. This page updates when it connects.",
  },
  edit: "Edit {{name}}",
  empty: {
    text: "A gateway sits in front of your resources and admits the users that your policies allow. Create the first gateway, then run the command on its page.",
    title: "No gateways yet",
  },
  fields: {
    deployedOn: "Deployed",
    deployedNever: "Not yet",
    endpoint: "Endpoint",
    endpointDetected: "Detected automatically",
    endpointHelp: "Host name or IP address that devices connect to. Leave empty to detect it automatically.",
    lastOnline: "Last online",
    port: "WireGuard port",
    portColumn: "Port",
    portHelp: "UDP port, 1 to 65535.",
    relay: "Relays traffic",
    resources: "Resources",
  },
  more: "More",
  noun: "gateways",
  resources: "Resources ({{count, number}})",
  resourcesEmpty: "No resources yet. Connect the gateway on the page of a resource.",
  search: "Name or endpoint",
  steps: {
    enterMaintenance: {
      done: "Maintenance started. The gateway gets no traffic.",
      label: "Start maintenance",
      note: "The gateway gets no traffic until maintenance ends. Connections through it are closed.",
    },
    exitMaintenance: {
      done: "Maintenance ended",
      label: "End maintenance",
      note: "The gateway gets traffic again as soon as it is online.",
    },
    enableRelay: {
      done: "Relay enabled",
      label: "Enable relay",
      note: "Traffic between devices and other gateways can pass through this gateway.",
    },
    disableRelay: {
      done: "Relay disabled",
      label: "Disable relay",
      note: "Devices and gateways that cannot reach each other directly can no longer use this gateway as a relay.",
    },
    rotateToken: {
      done: "Token rotated. The old token works for 24 hours.",
      label: "Rotate token",
      note: "The old token works for 24 hours. Update the gateway before then.",
    },
    title: "{{step}}: {{name}}",
  },
  sync: {
    applied: "Applied",
    behind: "{{duration}} behind",
    delay: "Delay",
    timeToApply: "Time to apply",
    duration: {
      days_one: "{{count, number}} day",
      days_other: "{{count, number}} days",
      hours: "{{count, number}} h",
      milliseconds: "{{count, number}} ms",
      minutes: "{{count, number}} min",
      seconds: "{{count, number}} s",
    },
    error: "Reason for the rejection",
    explain: {
      applied: "The gateway enforces the current configuration.",
      failed: "The gateway rejected the update and still enforces the previous configuration.",
      nothingEnforced:
        "The gateway never applied a configuration, or its configuration has expired. It drops all traffic.",
      offline: "The gateway enforces its last configuration until that expires. Then it drops all traffic.",
      pending: "A change is being compiled, or it waits for an earlier change.",
      sent: "The configuration was sent. The gateway has not confirmed it yet.",
    },
    generation: "generation {{generation}}",
    generationHelp:
      "Each change of the network increments the generation. Changes that do not affect this gateway are not sent to it.",
    network: "Network",
    none: "None yet",
    noTarget: "Unknown until the gateway connects",
    point: "generation {{generation}}, <time/>",
    sent: "Sent",
    states: {
      applied: "In sync",
      failed: "Rejected",
      nothingEnforced: "Not enforcing any policy",
      offline: "Not connected",
      pending: "Pending",
      sent: "Sent, not confirmed",
    },
    target: "Target",
    title: "Configuration",
  },
  title: "Gateways",
} as const;
