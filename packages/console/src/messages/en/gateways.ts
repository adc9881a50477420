export const gateways = {
  create: "Create gateway",
  delete: {
    effect_one:
      "{{count}} resource will no longer be reachable through this gateway, and the gateway’s token will stop working. If you revert the deletion, the gateway gets a new ID.",
    effect_other:
      "{{count}} resources will no longer be reachable through this gateway, and the gateway’s token will stop working. If you revert the deletion, the gateway gets a new ID.",
    onlyGateway:
      "These policies name no other gateway, and would then allow all gateways: {{names}}. Change or delete them first.",
    title: "Delete gateway “{{name}}”?",
  },
  deploy: {
    again: "This gateway has been deployed.",
    copy: "Copy with token",
    hide: "Hide token",
    instructions: {
      checkout:
        "To try a gateway on Linux, run this in the folder of a built checkout of Gatehouse. Install <code>nftables</code>, <code>wireguard-tools</code>, <code>iproute2</code> and <code>conntrack</code> first. The agent runs as root until you stop it. <code>npm run package -- --images</code> builds the packages, the images and the chart of the other tabs.",
      cloudInit:
        "Give this to a new machine as its user data. The packages come from this server. Everyone who can read the user data can read the token; rotate it after the first start.",
      compose:
        "Save this as <code>compose.yaml</code> on a container host. Run the command in its first line, then <code>docker compose up --detach</code>. First load the image <code>gatehouse-gateway_VERSION_ARCH.image.tar.gz</code> of the release with <code>docker load</code>.",
      container:
        "Run this on a container host with forwarding enabled. First load the image <code>gatehouse-gateway_VERSION_ARCH.image.tar.gz</code> of the release with <code>podman load</code>. With Docker, replace <code>podman</code> with <code>docker</code>.",
      debian:
        "Run this on the gateway’s machine, with Debian 12 or newer. The packages come from this server, and <code>apt</code> upgrades them.",
      debianFile:
        "On the gateway’s machine, with Debian 12 or newer, run this in the folder of the file <code>gatehouse-gateway_VERSION_ARCH.deb</code>, which is part of the release.",
      helm: "Run this in the folder of the chart <code>gatehouse_VERSION.chart.tgz</code>, which is part of the release. The nodes of the cluster need WireGuard and the gateway image of the release.",
    },
    kinds: {
      checkout: "From source",
      cloudInit: "cloud-init",
      compose: "Compose",
      container: "Container",
      debian: "Debian",
      debianFile: "Debian package",
      helm: "Helm",
    },
    confirm: "Confirm your identity",
    hiddenToken:
      "The command contains the gateway’s token, which is shown for 15 minutes after you sign in or confirm your identity.",
    noPermission:
      "You cannot view the gateway’s token, which the command contains. Ask someone with the permission <code>gateways:token</code>.",
    noPackages:
      "This server has no agent packages, so a gateway cannot be installed from it with one command. To offer packages, install <code>gatehouse-agents</code> on the server, and restart it.",
    plainHttp: "The command uses plain HTTP. Serve HTTPS, and set <code>GATEHOUSE_PUBLIC_URL</code> to the HTTPS URL.",
    revoked:
      "The previous token no longer works. If you have not updated the token on the gateway’s machine yet, update it now.",
    rotated:
      "The token was rotated. If you have not updated it on the gateway’s machine yet, update it now. The previous token works until <time></time>.",
    show: "Deploy on another machine",
    reveal: "Reveal token",
    title: "Deploy",
    update: "Update the token",
    updateInstructions: {
      checkout:
        "Stop the agent, and run this in the folder of the checkout. It is the command that started the agent, but contains the new token.",
      compose: "Run this in the folder of <code>compose.yaml</code> on the gateway’s container host.",
      container:
        "Run this on the gateway’s container host, in the folder in which you started the container. With Docker, replace <code>podman</code> with <code>docker</code>.",
      debian: "Run this on the gateway’s machine, even if it was installed with cloud-init. Nothing is reinstalled.",
      helm: "Run this with access to the cluster of the gateway. If the chart runs the gateway as a DaemonSet, restart <code>daemonset/gatehouse-gateway-gateway</code> instead.",
    },
    waiting: "Waiting for the gateway to connect. This page updates when it connects.",
  },
  edit: "Edit gateway “{{name}}”",
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
    lastOnline: "Last connection",
    nameExample: "Frankfurt 1",
    port: "WireGuard port",
    portHelp: "UDP port, 1 to 65535.",
    relay: "Relays traffic",
    resources: "Resources",
  },
  noun: "gateways",
  resources: "Resources ({{count, number}})",
  resourcesEmpty: "Publish a resource, or connect the gateway on a resource’s page.",
  resourcesNote: "Traffic to internet resources passes through this gateway only if a policy says so.",
  search: "Name or endpoint",
  settings: {
    domains: "Domains with their own resolvers",
    domainsHelp: "One per line. The longest matching domain applies.",
    edit: "Edit settings",
    editTitle: "Site settings of “{{name}}”",
    invalidLine: "“{{line}}” is not a domain with resolvers. Example: corp.example.com\u00a0=\u00a0192.0.2.53",
    machineResolvers: "Resolvers of the gateway’s machine",
    networks: "Networks",
    networksDerived:
      "Traffic between sites uses the IP addresses and networks of the private resources whose first gateway is this one. Host names may resolve to any IP address, unless “DNS answers within” is set for them.",
    networksEmpty:
      "The gateway exchanges no traffic with other sites. Host names may resolve to any IP address, unless “DNS answers within” is set for them.",
    networksHelp:
      "IP addresses or networks behind the gateway, for traffic between sites. They also limit the DNS answers for private resources.",
    noRelay: "Not used (no relay)",
    notSet: "Not set",
    ownNetworks: "Define networks here instead of deriving them from resources",
    relayPort: "Relay port",
    relayPortHelp:
      "UDP port on which relays accept packets for this gateway. Leave empty for no relay. Requires an endpoint.",
    resolvers: "Resolvers",
    resolversHelp: "IP addresses, in the order in which they are queried. Leave empty to use the machine’s resolvers.",
    title: "Site settings",
  },
  steps: {
    enterMaintenance: {
      done: "Maintenance started. Existing connections are draining.",
      label: "Start maintenance",
      note: "The gateway will get no new connections until maintenance ends. Existing connections can finish within the drain time.",
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
    resetKey: {
      done: "The gateway may connect with another key for 24 hours.",
      label: "Reset WireGuard key",
      note: "For 24 hours, the gateway may connect with another WireGuard key, once. Use this after its machine was set up again. If others may know the token, select “Replace token now” first.",
    },
    revokeToken: {
      done: "Token replaced. The previous token no longer works. Use “Update the token” under Deploy.",
      label: "Replace token now",
      note: "The previous token will stop working immediately. Use this if others may know the token. The gateway cannot reconnect until its machine has the new token. Until then, the gateway enforces its last configuration.",
    },
    rotateToken: {
      done: "Token rotated. The previous token works for another 24 hours. Use “Update the token” under Deploy.",
      label: "Rotate token",
      note: "The previous token works for 24 hours. Update the gateway before then. If others may know the token, select “Replace token now” instead.",
    },
    title: "{{step}}: “{{name}}”",
  },
  sync: {
    applied: "Applied",
    behind: "{{duration}} behind",
    delay: "Lag",
    desired: "Desired",
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
      pending: "A change is being processed, or is waiting for an earlier change.",
      sent: "The configuration was sent. The gateway has not confirmed it yet.",
    },
    generation: "Generation {{generation}}",
    generationHelp:
      "Each change in the organisation increments the generation. Changes that do not affect this gateway are not sent to it.",
    lastReport: {
      ERROR: "The gateway reports an error",
      MAINTENANCE: "In maintenance",
      NOT_REACHABLE: "Not reachable",
      ONLINE: "Online",
      UNRECOGNIZED: "No configuration applied yet",
      error: "Reported error",
      failed: "Not readable",
      hide: "Hide last report",
      show: "Show last report",
      status: "Status",
      title: "Last report",
    },
    none: "None yet",
    noDesired: "Unknown until the gateway connects",
    organisation: "Organisation",
    point: "Generation {{generation}}, <time/>",
    sent: "Sent",
    states: {
      applied: "In sync",
      failed: "Rejected",
      nothingEnforced: "Not enforcing any policy",
      offline: "Not connected",
      pending: "Pending",
      sent: "Sent, not confirmed",
    },
    title: "Configuration",
  },
  title: "Gateways",
} as const;
