/** The frame around every page: sign-in, navigation, command palette and notices. */
export const app = {
  account: {
    apiReference: "API reference",
    key: "Key: {{name}}",
    label: "Account",
    signOut: "Sign out",
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
    timedOut: "The request timed out. If it was a change, check whether it was made before you repeat it.",
    unexpected: "Something went wrong",
  },
  session: {
    apiKey: "API key",
    ended: "Your session has ended",
    endedText:
      "Sign in again to continue with {{tenant}}. Your input is still here, and interrupted requests continue after you sign in.",
    showKey: "Show key",
    signIn: "Sign in",
    text: "Use an API key of your tenant. The key's permissions apply to the console.",
    title: "Sign in to Gatehouse",
  },
  theme: {
    dark: "Use dark theme",
    light: "Use light theme",
  },
} as const;
