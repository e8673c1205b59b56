import express, { type Express, type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { MAX_JSON_VALUES, MAX_VISITOR_JSON_VALUES } from '../../shared/limits.ts';
import type { Job } from '../../shared/node/job.ts';
import { SIGN_IN_FRAGMENT } from '../../shared/node/session.ts';
import { NOTHING_AT_PATH, PROBLEMS, Problem } from '../../shared/problems.ts';
import type { RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName, type RouteTable } from '../../shared/routes.ts';
import type { AdmittedWrite, WriteLimits } from '../archive/limits/writeLimits.ts';
import { html } from '../html.ts';
import { signInRefused } from '../owner/sessions.ts';
import type { Invitations } from '../owner/sharing.ts';
import type { Log } from '../runtime/log.ts';
import { folderAway } from '../store/opening/folderLock.ts';
import { checkBody, checkQuery, readBytes, readJson, requireMediaType } from './body/readJson.ts';
import { bodyChunks } from './body/requestBody.ts';
import { AssemblyGate } from './delivery/assemblyGate.ts';
import { cutOff } from './delivery/eventStream.ts';
import { acceptsHtml, type Interface, interfaceMissing, serveRenderer } from './delivery/renderer.ts';
import { compressText, sendText } from './delivery/text.ts';
import { handleErrors } from './problems.ts';
import type { Handler, Reply } from './reply.ts';
import {
  cookieNameAt,
  doorCookie,
  invitationCookie,
  invitationNotValid,
  type Secrets,
  type Visitor,
} from './security/access.ts';
import type { PublicAddress } from './security/addresses.ts';
import { type Guards, limitWrite } from './security/guards.ts';

/** One handler for each route. A missing handler is a compile error. */
export type Handlers = { [Name in RouteName]: Handler<RouteTable[Name]> };

export interface AppConfig {
  handlers: Handlers;
  secrets: Secrets;
  guards: Guards;
  /** The web interface and the descriptions of its pages. */
  interface: Omit<Interface, 'mayFillPage' | 'publicAddress'>;
  log: Log;
  /** Why every request is refused by now, as without the disk of the data folder; undefined if none is. */
  refusal: () => Problem | undefined;
  /** The limits for writes to the data-pack archive. */
  writeLimits: WriteLimits;
  /** Called with the name of each route other than GET that was answered without a problem. */
  onWrite: (name: RouteName) => void;
  /** Called with each job that a client was told of, and what it sent for it. */
  onJob: (asked: AskedJob, job: Job) => void;
}

/** A request that was answered with a job. */
export interface AskedJob {
  method: string;
  /** The path with its query. */
  path: string;
  body: unknown;
}

/** Creates the HTTP application: guards, then the routes of the table, then the pages of the web interface. */
export function createApp(config: AppConfig): Express {
  const { handlers, secrets, guards, log, writeLimits, onWrite, onJob } = config;
  const { invitations, cookieName, publicAddress } = secrets;
  const app = express();
  app.setMaxListeners(0);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(applyGuards(guards));
  app.use(compressText());

  /** Checks what was asked, lets the route answer, and sends that. */
  const answer = async (
    name: RouteName,
    spec: RouteSpec,
    visitor: Visitor,
    request: Request,
    response: Response,
  ): Promise<void> => {
    const ownsQuery = endsInUrl(spec) || spec.readsOwnQuery;
    const search = ownsQuery ? new URLSearchParams() : searchOf(request.originalUrl);
    const query = spec.query ? checkQuery(spec.query, search) : checkQuery(NO_QUERY, search);
    let body: unknown;
    const handle = async (admitted?: AdmittedWrite): Promise<Reply> => {
      body = await bodyOf(spec, request);
      const handler = handlers[name] as Handler<RouteSpec>;
      const params = endsInUrl(spec) ? rawParamsOf(spec, request) : paramsOf(request);
      return handler({ params, query, body, visitor, request, admitted } as Parameters<typeof handler>[0]);
    };
    const isLimited = (spec.access === 'contribute' && spec.method === 'POST') || spec.isLimited;
    const reply = isLimited
      ? await limitWrite(writeLimits, { visitor, request, response }, handle)
      : await handle();
    // A body that was streamed is gone.
    if ('json' in reply && reply.status === 202 && spec.access === 'owner' && spec.body?.kind !== 'stream')
      onJob({ method: spec.method, path: request.originalUrl, body }, reply.json as Job);
    await send(response, reply);
  };

  const gate = new AssemblyGate();
  const routes = express.Router({ caseSensitive: true, strict: true });
  for (const [path, names] of namesByPath()) {
    for (const name of names) {
      const spec = ROUTE_SPECS[name];
      addRoute(routes, spec, async (request, response) => {
        const visitor = guards.allow(request, request.path, spec.access);
        if (visitor.session) {
          if (visitor.sessionNeedsUseUpdate) secrets.sessions.note(visitor.session);
          secrets.sessions.follow(visitor.session, response, () => cutOff(response));
        }
        const isGated = spec.memoryMb !== undefined && request.method !== 'HEAD' && !visitor.owner;
        const leave = isGated ? await gate.enter(request, response, spec.memoryMb ?? 0) : undefined;
        try {
          await answer(name, spec, visitor, request, response);
        } finally {
          leave?.();
        }
        if (spec.method !== 'GET') onWrite(name);
      });
    }
    refuseOtherMethods(routes, path, names);
  }
  app.use(routes);
  app.use(
    signIn(secrets, () => config.interface.readDocument() !== undefined),
    acceptInvitation(invitations, cookieName, publicAddress),
    serveRenderer({
      ...config.interface,
      mayFillPage: (request) => guards.mayFillPage(request),
      publicAddress,
    }),
  );
  app.use(() => {
    throw new Problem('not_found', NOTHING_AT_PATH);
  });
  app.use(handleErrors(log, config.refusal));
  return app;
}

/** Applies the guards before any route. */
function applyGuards(guards: Guards): RequestHandler {
  return (request, response, next) => {
    response.set(guards.headersFor(request, request.path));
    guards.admit(request, request.path);
    next();
  };
}

const NO_QUERY = z.strictObject({});

/** Returns the parsed query. Most requests have none, and parsing is avoided for them. */
function searchOf(url: string): URLSearchParams {
  return url.includes('?') ? new URL(url, 'http://localhost').searchParams : new URLSearchParams();
}

/**
 * Returns the paths with the names of their routes. Paths with fewer placeholders come first, so that
 * `/api/events/stream` does not match `/api/events/{id}`.
 */
function namesByPath(): [path: string, names: RouteName[]][] {
  const placeholders = (path: string) => path.split('{').length;
  const byPath = Map.groupBy(Object.keys(ROUTE_SPECS) as RouteName[], (name) => ROUTE_SPECS[name].path);
  return [...byPath].sort(([left], [right]) => placeholders(left) - placeholders(right));
}

/** Returns whether a path ends in an unencoded URL, including its query. */
function endsInUrl({ path }: Pick<RouteSpec, 'path'>): boolean {
  return path.endsWith('{+url}');
}

/** Returns a pattern for a path that ends in a URL, with a named group for each parameter. */
function urlPathPattern(template: string): RegExp {
  return new RegExp(`^${template.replace('{+url}', '(?<url>.+)').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

/** Converts a path template to Express syntax (path-to-regexp 8). Groups for a URL have no name: Express decodes named ones. */
function expressPath(template: string): string | RegExp {
  if (endsInUrl({ path: template }))
    return new RegExp(urlPathPattern(template).source.replace(/\(\?<\w+>/g, '(?:'));
  return template.replace(/\{\+(\w+)\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}

function addRoute(routes: Router, spec: RouteSpec, handler: RequestHandler): void {
  routes[spec.method.toLowerCase() as 'get'](expressPath(spec.path), handler);
}

/** Handles OPTIONS of a known path, and responds to all other methods with 405 and `Allow`. */
function refuseOtherMethods(routes: Router, path: string, names: readonly RouteName[]): void {
  const methods = names.map((name) => ROUTE_SPECS[name].method);
  const allow = ['OPTIONS', ...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
  routes.all(expressPath(path), (request, response) => {
    response.set('Allow', allow);
    if (request.method === 'OPTIONS') return void response.status(204).end();
    throw new Problem('method_not_allowed', `This path supports ${allow}.`, { headers: { Allow: allow } });
  });
}

function paramsOf(request: Request): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.params)) {
    params[name] = Array.isArray(value) ? value.join('/') : (value as string);
  }
  return params;
}

/** Reads the parameters without decoding them, because a URL may contain percent signs itself. */
function rawParamsOf({ path }: RouteSpec, request: Request): Record<string, string> {
  return { ...urlPathPattern(path).exec(request.originalUrl)?.groups };
}

async function bodyOf({ body, access }: RouteSpec, request: Request): Promise<unknown> {
  if (body?.kind !== 'json') return undefined;
  const { schema, maxBytes, optional = false } = body;
  const maxValues = access === 'owner' || access === 'paired' ? MAX_JSON_VALUES : MAX_VISITOR_JSON_VALUES;
  return checkBody(schema, await readJson(request, { maxBytes, maxValues, optional }));
}

async function send(response: Response, reply: Reply): Promise<void> {
  if ('write' in reply) return reply.write(response);
  response.status(reply.status).set('Cache-Control', 'no-store');
  if (!('json' in reply) && !('jsonText' in reply)) return void response.end();
  response.set(reply.headers ?? {}).type('application/json');
  if ('json' in reply) response.send(JSON.stringify(reply.json));
  else await sendText(response, reply.jsonText, reply.stillReadable);
}

/**
 * Handles the owner's one-time sign-in link. It uses up the code and leads to the web interface with another one, in the
 * fragment, which the page exchanges with its key for a session. A used code is worthless, so it may stay in the browser's
 * history.
 */
function signIn(secrets: Secrets, hasInterface: () => boolean): RequestHandler {
  const { keys } = secrets;
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/sign-in/:code', (request, response) => {
    // Without the interface the redirect leads nowhere. Programs only need the session.
    if (acceptsHtml(request) && !hasInterface())
      throw interfaceMissing('Then open this link again. It is still valid.');
    // Link previews send HEAD, which must not use up the code.
    const code = request.method === 'GET' ? keys.spendSignInCode(request.params.code) : undefined;
    if (code === undefined) throw signInRefused();
    setDoor(secrets, request, response);
    response.set('Cache-Control', 'no-store').redirect(303, `/${SIGN_IN_FRAGMENT}${code}`);
  });
  return router;
}

/** Lets a browser on another machine load the interface again. It is no secret: see `OwnerKeys.door`. */
function setDoor(secrets: Secrets, request: Request, response: Response): void {
  const { keys, cookieName, publicAddress } = secrets;
  if (publicAddress.peerOf(request).loopback) return;
  response.cookie(cookieNameAt(request, doorCookie(cookieName), publicAddress), keys.door, {
    httpOnly: true,
    // A link in a message opens the interface.
    sameSite: 'lax',
    path: '/',
    secure: publicAddress.isSecure(request),
    maxAge: MAX_AGE_MS,
  });
}

/** The form contains one token. */
const MAX_FORM_BYTES = 4096;
/** The lifetime of cookies. Revoking an invitation ends its cookie earlier. */
const MAX_AGE_MS = 365 * 24 * 3_600_000;

/**
 * Stores the invitation token that a visitor entered in a form. It is kept in a cookie that scripts in the page cannot
 * read. Other clients send it as a Bearer token.
 */
function acceptInvitation(
  invitations: Invitations,
  cookieName: string,
  publicAddress: PublicAddress,
): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.post('/invitation', async (request, response) => {
    requireMediaType(request, ['application/x-www-form-urlencoded']);
    const form = new URLSearchParams((await readBytes(bodyChunks(request), MAX_FORM_BYTES)).toString());
    const token = form.get('token')?.trim() ?? '';
    if (invitations.idOf(token) === undefined) throw invitationNotValid();
    response.cookie(cookieNameAt(request, invitationCookie(cookieName), publicAddress), token, {
      httpOnly: true,
      sameSite: 'strict',
      secure: publicAddress.isSecure(request),
      path: '/',
      maxAge: MAX_AGE_MS,
    });
    response.set('Cache-Control', 'no-store').status(204).end();
  });
  return router;
}

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
/** The page is requested again after this many seconds. */
const REFRESH_SECONDS = 3;

/**
 * Creates the application that answers every request while the disk of the data folder is away. It says only that, so it
 * needs neither the archive nor the guards.
 */
export function createAwayApp(log: Log): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  // It says whether the process is up, and nothing else.
  app.get(
    '/api/health',
    (_request, response) => void response.set('Cache-Control', 'no-store').json({ status: 'up' }),
  );
  app.use((request, response) => {
    const problem = folderAway();
    const isPage = (request.method === 'GET' || request.method === 'HEAD') && acceptsHtml(request);
    if (!isPage) throw problem;
    response
      .status(problem.status)
      .set({
        'Cache-Control': 'no-store',
        'Content-Security-Policy': PAGE_POLICY,
        Refresh: String(REFRESH_SECONDS),
        ...problem.extra.headers,
      })
      .type('text/html')
      .send(awayPage(problem.message));
  });
  app.use(handleErrors(log));
  return app;
}

function awayPage(sentence: string): string {
  const { title } = PROBLEMS.data_folder_away;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}</style>
<main>
<h1>${title}</h1>
<p>${sentence}</p>
<p>This page tries again every ${REFRESH_SECONDS} seconds.</p>
</main>
</html>
`.text;
}
