/** E-mail domains of the tenant. */
export const domains = {
  copyPart: "Copy {{part}} of the TXT record",
  create: "Add domain",
  delete: {
    effect: "People no longer find this tenant by the domain, and nobody new is admitted from it. Users remain.",
    title: "Delete domain {{name}}?",
  },
  empty: {
    text: "Prove that a domain is yours with a TXT record in DNS. People then find their sign-in by it, and identity providers can admit people with addresses in it.",
    title: "No domains yet",
  },
  fields: {
    action: "Action",
    domain: "Domain",
    domainHelp: "Such as example.com. Subdomains are separate domains.",
    record: "TXT record",
    recordName: "Name",
    recordValue: "Value",
    state: "Status",
  },
  noun: "domains",
  searchLabel: "Domain",
  state: {
    unverified: "Not verified",
    verified: "Verified",
  },
  title: "Domains",
  verified: "Domain verified",
  verify: "Verify",
} as const;
