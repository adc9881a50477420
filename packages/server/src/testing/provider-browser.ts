/** A browser without a screen, which signs in at an identity provider by filling in the provider's forms. */

export interface BrowserOptions {
  /** The public address of Gatehouse, at whose pages the browser stops. */
  readonly publicUrl: string;
  /** Values that the person enters in forms of the provider, by the names of fields. */
  readonly answers: Readonly<Record<string, string>>;
}

const maxSteps = 20;

export class ProviderBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #options: BrowserOptions;
  /** How often the person filled in a form. */
  formsSent = 0;

  constructor(options: BrowserOptions) {
    this.#options = options;
  }

  /** The value of a cookie of Gatehouse. */
  cookieOf(name: string): string | undefined {
    return this.#cookies.get(this.#options.publicUrl)?.get(name);
  }

  /** Follows redirects and forms. @returns the last address and page */
  async open(start: string): Promise<{ readonly url: URL; readonly page: string }> {
    const { publicUrl, answers } = this.#options;
    let url = new URL(start);
    let form: URLSearchParams | undefined;
    for (let step = 0; step < maxSteps; step += 1) {
      const answer = await this.#send(url, form);
      form = undefined;
      const location = answer.headers.get("location");
      if (location !== null) {
        url = new URL(location, url);
        continue;
      }
      const page = await answer.text();
      const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
      if (url.origin === publicUrl || action === undefined) return { url, page };
      url = new URL(action, url);
      this.formsSent += 1;
      form = new URLSearchParams([...hiddenFields(page), ...Object.entries(answers)]);
    }
    throw new Error(`the browser was still on its way at ${url.href}`);
  }

  async isSignedIn(): Promise<boolean> {
    const cookie = `gatehouse_session=${this.cookieOf("gatehouse_session")}`;
    const reply = await fetch(`${this.#options.publicUrl}/console/session`, {
      headers: { cookie, "sec-fetch-site": "same-origin" },
    });
    return reply.status === 200;
  }

  async #send(url: URL, form: URLSearchParams | undefined): Promise<Response> {
    const held = this.#cookies.get(url.origin) ?? new Map<string, string>();
    this.#cookies.set(url.origin, held);
    const cookie = [...held].map(([name, value]) => `${name}=${value}`).join("; ");
    const method = form === undefined ? "GET" : "POST";
    const headers = { cookie, accept: "text/html", "sec-fetch-site": "none" };
    const answer = await fetch(url, { method, headers, redirect: "manual", ...(form && { body: form }) });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (value === "") held.delete(name);
      else held.set(name, value);
    }
    return answer;
  }
}

/** Fields that the provider filled in. */
function hiddenFields(page: string): [string, string][] {
  return [...page.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
    const [name, value] = [/ name="([^"]+)"/.exec(input)?.[1], / value="([^"]*)"/.exec(input)?.[1]];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
}
