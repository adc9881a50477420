/** The context to which the encrypted token of a link is bound until the link is sent. */
export function mailedTokenContext(tenantId: string, linkId: string): string {
  return `enrolment-mail:${tenantId}:${linkId}`;
}
