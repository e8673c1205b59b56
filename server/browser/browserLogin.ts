import type { Params } from './protocol.ts';

/** The cookies and the local storage of a login. */
export interface BrowserLogin {
  readonly cookies: readonly BrowserCookie[];
  readonly origins: readonly { origin: string; items: readonly (readonly [string, string])[] }[];
}

/** A cookie as RFC 6265 keeps it. */
export interface BrowserCookie {
  name: string;
  value: string;
  /** In lower case, without a leading dot. */
  domain: string;
  /** Whether it is sent to this host only, and not to those below it. */
  hostOnly: boolean;
  path: string;
  secure: boolean;
  httpOnly: boolean;
  sameSite: 'Strict' | 'Lax' | 'None' | null;
  /** Milliseconds since 1970; null for the end of the session. */
  expires: number | null;
}

/** Returns the commands that put the cookies of a login into the context of a page. The browser may refuse some. */
export function cookieCommands(login: BrowserLogin | undefined): [string, Params][] {
  return (login?.cookies ?? []).map(({ domain, hostOnly, sameSite, expires, ...cookie }) => [
    'Network.setCookie',
    {
      ...cookie,
      // With a domain, a cookie is also for the hosts below it.
      ...(hostOnly
        ? { url: `http${cookie.secure ? 's' : ''}://${domain}${cookie.path}` }
        : { domain: `.${domain}` }),
      ...(sameSite !== null && { sameSite }),
      ...(expires !== null && { expires: expires / 1000 }),
    },
  ]);
}

/**
 * Returns the commands that fill the local storage of each origin before a script of the page runs, in a world of their own
 * that no page sees. What a page has put there itself stays.
 */
export function storageCommands(login: BrowserLogin | undefined): [string, Params][] {
  return (login?.origins ?? []).map(({ origin, items }) => [
    'Page.addScriptToEvaluateOnNewDocument',
    {
      worldName: 'strongroom-login',
      source: `if (location.origin === ${JSON.stringify(origin)} && localStorage.length === 0)
        for (const [name, value] of ${JSON.stringify(items)}) localStorage.setItem(name, value);`,
    },
  ]);
}
