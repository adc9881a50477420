/** Debian's LemonLDAP::NG, a third-party OpenID Connect provider, on a loopback port, with demo accounts. */
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./pebble.ts";
import { until } from "./until.ts";

const program = "/usr/bin/starman";
const portalApp = "/usr/share/lemonldap-ng/portal/htdocs/index.psgi";
/** The provider part needs this module, which is not a dependency of the package. */
const randomModule = "/usr/share/perl5/String/Random.pm";

/** Why the tests cannot run; undefined if they can. */
export const lemonldapProblem = [program, portalApp, randomModule].every((file) => existsSync(file))
  ? undefined
  : "liblemonldap-ng-portal-perl, starman or libstring-random-perl is not installed";

/** The client that it knows. Each demo account's password is its name. */
export const lemonldapClient = { clientId: "gatehouse", clientSecret: "a-secret-of-the-client" } as const;

export interface RelyingPartyAddresses {
  readonly redirectUri: string;
  readonly postLogoutRedirectUri: string;
}

export class Lemonldap {
  readonly #folder = mkdtempSync(join(tmpdir(), "gatehouse-lemonldap-"));
  readonly #port: number;
  #process: ChildProcess | undefined;
  #configuration = 0;

  private constructor(port: number) {
    this.#port = port;
    for (const folder of ["conf", "cache", "sessions", "sessions/lock", "psessions", "psessions/lock"]) {
      mkdirSync(join(this.#folder, folder));
    }
  }

  static async create(): Promise<Lemonldap> {
    return new Lemonldap(await freePort());
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts the provider, with new signing keys. */
  async start(addresses: RelyingPartyAddresses): Promise<void> {
    this.#writeConfiguration(addresses);
    const listen = ["--listen", `127.0.0.1:${this.#port}`, "--workers", "2"];
    const env = {
      PATH: process.env.PATH,
      LLNG_DEFAULTCONFFILE: join(this.#folder, "lemonldap-ng.ini"),
      LLNG_DEFAULTLOGGER: "Lemonldap::NG::Common::Logger::Std",
    };
    this.#process = spawn(program, [...listen, portalApp], { stdio: "ignore", env });
    await until("the provider answers", () =>
      fetch(`${this.issuer}/.well-known/openid-configuration`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  }

  async stop(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exit = once(running, "exit");
    running.kill("SIGTERM");
    await exit;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #writeConfiguration({ redirectUri, postLogoutRedirectUri }: RelyingPartyAddresses): void {
    const folder = this.#folder;
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    this.#configuration += 1;
    const number = this.#configuration;
    const storage = (name: string) => ({
      Directory: join(folder, name),
      LockDirectory: join(folder, name, "lock"),
      generateModule: "Lemonldap::NG::Common::Apache::Session::Generate::SHA256",
    });
    const options = {
      ClientID: lemonldapClient.clientId,
      ClientSecret: lemonldapClient.clientSecret,
      RedirectUris: redirectUri,
      PostLogoutRedirectUris: postLogoutRedirectUri,
      IDTokenSignAlg: "RS256",
      RequirePKCE: 1,
      BypassConsent: 1,
      LogoutBypassConfirm: 1,
    };
    const settings = {
      cfgNum: number,
      cfgDate: Math.floor(Date.now() / 1_000),
      key: "a-key-for-cookies",
      portal: this.issuer,
      domain: "127.0.0.1",
      securedCookie: 0,
      authentication: "Demo",
      userDB: "Same",
      passwordDB: "Null",
      registerDB: "Null",
      // Captchas are not used, and their own module needs ImageMagick.
      captcha: "::UserDB::Null",
      locationRules: { "127.0.0.1": { default: "accept" } },
      exportedVars: {},
      groups: {},
      demoExportedVars: { uid: "uid", cn: "cn" },
      // Macros are expressions in Perl.
      macros: { email: "$uid . '@example.com'", emailVerified: "1" },
      globalStorage: "Apache::Session::File",
      globalStorageOptions: storage("sessions"),
      persistentStorage: "Apache::Session::File",
      persistentStorageOptions: storage("psessions"),
      localSessionStorage: "",
      issuerDBOpenIDConnectActivation: 1,
      oidcServicePrivateKeySig: privateKey.export({ type: "pkcs1", format: "pem" }),
      oidcServicePublicKeySig: publicKey.export({ type: "spki", format: "pem" }),
      oidcServiceKeyIdSig: `key-${number}`,
      oidcRPMetaDataOptions: {
        gatehouse: Object.fromEntries(
          Object.entries(options).map(([name, value]) => [`oidcRPMetaDataOptions${name}`, value]),
        ),
      },
      oidcRPMetaDataExportedVars: {
        gatehouse: { email: "email", email_verified: "emailVerified;bool", name: "cn", groups: "groups;string;always" },
      },
      oidcRPMetaDataOptionsExtraClaims: { gatehouse: { groups: "groups" } },
    };
    writeFileSync(join(folder, "conf", `lmConf-${number}.json`), JSON.stringify(settings));
    const cache = `{ 'namespace' => 'configuration', 'cache_root' => '${folder}/cache' }`;
    const ini = `[all]
logLevel = error
localSessionStorage =
[configuration]
type = File
dirName = ${folder}/conf
localStorage = Cache::FileCache
localStorageOptions = ${cache}
[portal]
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
`;
    writeFileSync(join(folder, "lemonldap-ng.ini"), ini);
  }
}
