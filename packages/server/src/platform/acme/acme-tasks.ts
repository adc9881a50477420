/** The background tasks. The certificate and challenges are also read while an order runs. */
export const acmeTasks = { read: "acme-certificate", order: "acme-order" } as const;
