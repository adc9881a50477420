const words = { PRIVATE: "Private", SAAS: "SaaS", INTERNET: "Internet" } as const;

export function sayResourceType(type: keyof typeof words): string {
  return words[type];
}
