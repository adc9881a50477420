/** The frame around every page: sign-in, navigation, command palette and notices. */
export const app = {
  account: {
    apiReference: "API reference",
    guides: "Guides",
    key: "Key: {{name}}",
    label: "Account",
    signOut: "Sign out",
    signOutProvider: "Sign out, also at the identity provider",
  },
  lazy: {
    newVersion: {
      text: "This page belongs to a newer version. Reload to use it.",
      title: "A new version of the console is available",
    },
    noServer: {
      text: "The server does not answer. The page opens as soon as it does.",
      title: "This page could not be loaded",
    },
    notLoaded: {
      text: "The server answers, but the browser did not load the page. Reload to try again.",
    },
    reload: "Reload",
  },
  navigation: {
    label: "Pages",
    sections: {
      start: "Start",
      people: "People",
      network: "Network",
      access: "Access",
      administration: "Administration",
    },
    skip: "Skip to content",
    toggle: "Navigation",
  },
  notFound: {
    back: "Go to overview",
    text: "The address may be mistyped, or the page may have moved.",
    title: "Page not found",
  },
  palette: {
    actions: "Actions",
    create: "Create",
    noResults: "No results",
    pages: "Pages",
    placeholder: "Search pages, users, resources…",
    records: "Records",
    search: "Search",
  },
  problem: {
    connectionFailed: "The connection failed. Check your network and whether the server is running.",
    copyRequestId: "Copy request ID {{id}}…",
    explain: "About this error",
    noResponse: "No response from Gatehouse",
    request: "{{detail}} (request {{id}})",
    retry: "Try again",
    retryIn_one: "Trying again in {{count, number}} second",
    retryIn_other: "Trying again in {{count, number}} seconds",
    timedOut: "The request timed out. If it was a change, check whether it was made before you repeat it.",
    unavailable: "The server is not available ({{status}})",
    unavailableText: "A proxy answered instead of Gatehouse. The server may be starting.",
    unexpected: "Something went wrong",
  },
  session: {
    apiKey: "API key",
    continue: "Continue with this input",
    discard: "Discard input and open the console",
    ended: "Your session has ended",
    endedText:
      "Sign in again to continue with {{tenant}}. Your input is still here, and interrupted requests continue after you sign in.",
    other: "You are signed in as {{name}}.",
    otherTenant: "The input on this page belongs to {{tenant}}.",
    providerTab: "The sign-in opens in a new tab. This dialog closes once you have signed in there.",
    showKey: "Show key",
    signIn: "Sign in",
    text: "Choose how to sign in.",
    title: "Sign in to Gatehouse",
  },
  theme: {
    dark: "Use dark theme",
    light: "Use light theme",
  },
} as const;
