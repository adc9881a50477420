/** Email domains of the organisation. */
export const domains = {
  copyPart: "Copy {{part}} of the TXT record",
  create: "Add domain",
  delete: {
    effect:
      "People will no longer find this organisation by the domain, and nobody new will be admitted from it. Users remain.",
    title: "Delete domain {{name}}?",
  },
  empty: {
    text: "Prove that a domain is yours with a TXT record in DNS. People then find their sign-in by it, and identity providers can admit people with email addresses in it.",
    title: "No domains yet",
  },
  fields: {
    action: "Action",
    domain: "Domain",
    domainHelp: "Such as example.com. Subdomains are separate domains.",
    record: "TXT record to create in DNS",
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
