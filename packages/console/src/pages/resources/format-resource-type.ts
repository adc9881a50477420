const words = { PRIVATE: "Private", SAAS: "SaaS", INTERNET: "Internet" } as const;

export function formatResourceType(type: keyof typeof words): string {
  return words[type];
}
