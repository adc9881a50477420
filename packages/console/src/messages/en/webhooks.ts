export const webhooks = {
  create: "Create webhook",
  delete: {
    effect:
      "Gatehouse stops delivering events to this webhook, cancels pending deliveries and deletes the delivery history. You cannot undo this.",
    title: "Delete webhook {{name}}?",
  },
  deliveries: {
    attempts: "Attempts",
    attemptsCount: "{{count, number}}",
    attemptsLast: "{{count, number}}, last: <code>{{result}}</code> after {{duration, number}} ms",
    columns: {
      action: "Action",
      event: "Event",
      time: "Time",
    },
    empty: {
      inactive: "This webhook is inactive and receives nothing. Edit the webhook to activate it.",
      text: "Gatehouse delivers each event that matches the webhook, and lists the deliveries here for 30 days.",
      title: "No deliveries yet",
    },
    nextAttempt: "Next attempt",
    noun: "deliveries",
    redeliver: "Redeliver",
    redelivered: "Delivery scheduled",
    showEvents: "Show events",
    states: {
      DELIVERED: "Delivered",
      FAILED: "Failed",
      PENDING: "Pending",
    },
    list: "List of deliveries",
    title: "Deliveries",
  },
  disabled: "Disabled",
  disabledReasons: {
    FAILING: "All attempts failed for several days.",
    GONE: "The receiver responded with status 410 (Gone).",
  },
  edit: "Edit {{name}}",
  empty: {
    text: "A webhook notifies another program of changes as they happen. Create the first one with the URL of the receiver.",
    title: "No webhooks yet",
  },
  fields: {
    active: "Active",
    activeHelp: "Gatehouse does not store events for an inactive webhook.",
    allEvents: "All events",
    events: "Events",
    eventsHelp:
      "Types such as policy.updated or policy.*, or operations such as reorderPolicies. Leave empty for all events.",
    failingSince: "Failing since",
    nameHelp: "Leave empty to use the host of the URL.",
    url: "URL",
    urlHelp: "Gatehouse sends each event to this URL with POST, over HTTPS.",
  },
  noun: "webhooks",
  rotate: {
    label: "Rotate secret",
    title: "Rotate the secret of {{name}}",
    titleNew: "New secret of {{name}}",
  },
  searchLabel: "Name or URL",
  secret: {
    text: "The receiver uses the secret to verify the signature of each message.",
    title: "Secret of {{name}}",
  },
  state: {
    active: "Active",
    disabledBySystem: "Disabled by Gatehouse",
    failing: "Failing",
    inactive: "Inactive",
    label: "Status",
  },
  test: "Send a test message",
  testSent: "Test message sent. See the deliveries.",
  title: "Webhooks",
} as const;
