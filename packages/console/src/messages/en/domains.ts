/** Email domains of the organisation. */
export const domains = {
  partOfRecord: "{{part}} of the TXT record",
  create: "Add domain",
  delete: {
    effect:
      "People will no longer find this organisation by their email address, and no new person will be admitted from the domain. Users remain.",
    title: "Delete domain “{{name}}”?",
  },
  empty: {
    text: "Prove that a domain is yours with a TXT record in DNS. People can then sign in by entering their email address, and identity providers can admit people with email addresses in the domain.",
    title: "No domains yet",
  },
  fields: {
    action: "Action",
    domain: "Domain",
    domainHelp:
      "Subdomains are separate domains. After adding the domain, prove that it is yours with a TXT record in DNS.",
    record: "TXT record to create in DNS",
    recordName: "Name",
    recordValue: "Value",
    state: "Status",
  },
  noun: "domains",
  note: "Once a domain is verified, people can sign in by entering their email address. Identity providers can then admit people with addresses in the domain.",
  searchLabel: "Domain",
  state: {
    unverified: "Not verified",
    verified: "Verified",
  },
  title: "Domains",
  verified: "Domain verified",
  verify: "Verify",
} as const;
