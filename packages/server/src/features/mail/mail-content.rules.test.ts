import { expect, test } from "vitest";
import { invitationMail } from "./mail-content.ts";

const url = "https://gatehouse.example.com/console/enrol#token";
const invitation = { email: "ann@example.com", tenantName: "Example Ltd", url, expiresAt: "2026-03-10T09:30:00.000Z" };

test("the text names the tenant, the link, its expiry and the user", () => {
  const { subject, text, html } = invitationMail(invitation);
  expect(subject).toBe("Your access to Example Ltd");
  for (const part of ["Example Ltd", url, "until 2026-03-10 09:30 UTC", "ann@example.com"]) {
    expect(text).toContain(part);
    expect(html).toContain(part);
  }
});

test("a name cannot add headers, lines or markup", () => {
  const tenantName = 'A\r\nBcc: eve@example.net\r\n\r\n<img src="https://example.net/t.png">\u2028B';
  const { subject, text, html } = invitationMail({ ...invitation, tenantName });
  expect(subject).not.toMatch(/[\r\n\u2028]/);
  expect(text.split("\n\n")).toHaveLength(5);
  expect(html).not.toContain("<img");
  expect(html.match(/https:\/\/[^"<\s]*/g)?.filter((found) => found !== url && !found.includes("&quot;"))).toEqual([]);
});

test("the page of sign-in needs no warning about the link", () => {
  const { text } = invitationMail({
    ...invitation,
    url: "https://gatehouse.example.com/console/",
    expiresAt: undefined,
  });
  expect(text).not.toContain("passkey");
});
