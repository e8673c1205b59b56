import express, {
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { z } from 'zod';
import { Problem } from '../../shared/problems.ts';
import type { RouteSpec } from '../../shared/routes/route.ts';
import { ROUTES, type RouteName, type RouteTable } from '../../shared/routes.ts';
import type { AdmittedWrite, WriteLimits } from '../archive/limits/writeLimits.ts';
import type { Log } from '../runtime/log.ts';
import { checkBody, checkQuery, readJson } from './body/readJson.ts';
import { serveRenderer } from './delivery/renderer.ts';
import { sendText } from './delivery/sendText.ts';
import { handleErrors } from './problems.ts';
import type { Handler, Reply } from './reply.ts';
import { acceptInvitation } from './security/acceptInvitation.ts';
import type { Secrets, Visitor } from './security/access.ts';
import type { Guards } from './security/guards.ts';
import { limitWrite } from './security/limitWrite.ts';
import { renewSession, signIn } from './security/signIn.ts';

/** One handler for each route of the table: a route without one does not compile. */
export type Handlers = { [Name in RouteName]: Handler<RouteTable[Name]> };

export interface AppConfig {
  handlers: Handlers;
  secrets: Secrets;
  guards: Guards;
  rendererFolder: string;
  /** Whether the interface is in that folder. */
  hasInterface: () => boolean;
  log: Log;
  /** What every write to the data-pack archive is let through by. */
  writeLimits: WriteLimits;
}

/** The whole HTTP interface: guards, then the table of routes, then the pages of the interface. */
export function createApp(config: AppConfig): Express {
  const { handlers, secrets, guards, rendererFolder, hasInterface, log, writeLimits } = config;
  const { invitations, cookieName, publicAddress } = secrets;
  const app = express();
  app.setMaxListeners(0);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(stand(guards));

  const routes = express.Router({ caseSensitive: true, strict: true });
  const noteUse = (visitor: Visitor, request: Request, response: Response) => {
    if (visitor.sessionNeedsUseUpdate) renewSession(secrets, visitor.session ?? '', request, response);
  };
  for (const [path, names] of namesByPath()) {
    for (const name of names) {
      const spec: RouteSpec = ROUTES[name];
      addRoute(routes, spec, async (request, response) => {
        const visitor = guards.allow(request, spec.access);
        noteUse(visitor, request, response);
        const isOwn = takesAddress(spec) || spec.readsOwnQuery;
        const search = isOwn ? new URLSearchParams() : searchOf(request.originalUrl);
        const query = spec.query ? checkQuery(spec.query, search) : checkQuery(NO_QUERY, search);
        const answer = async (admitted?: AdmittedWrite): Promise<Reply> => {
          const body = await bodyOf(spec, request);
          const handler = handlers[name] as Handler<RouteSpec>;
          const params = takesAddress(spec) ? addressParamsOf(spec, request) : paramsOf(request);
          return handler({ params, query, body, visitor, request, admitted } as Parameters<
            typeof handler
          >[0]);
        };
        const isLimited = spec.access === 'contribute' && spec.method === 'POST';
        const reply = isLimited
          ? await limitWrite(writeLimits, { visitor, request, response }, answer)
          : await answer();
        await send(response, reply);
      });
    }
    refuseOtherMethods(routes, path, names);
  }
  app.use(routes);
  app.use(
    signIn(secrets, hasInterface),
    acceptInvitation(invitations, cookieName, publicAddress),
    serveRenderer(rendererFolder, hasInterface),
  );
  app.use(() => {
    throw new Problem('not_found', 'There is nothing at this address.');
  });
  app.use(handleErrors(log));
  return app;
}

/** Puts the guards before everything that Express answers. */
function stand(guards: Guards): RequestHandler {
  return (request, response, next) => {
    response.set(guards.headersFor(request, request.path));
    guards.admit(request, request.path);
    next();
  };
}

const NO_QUERY = z.strictObject({});

/** What stands behind the question mark, read as every URL's is; most requests have none. */
function searchOf(url: string): URLSearchParams {
  return url.includes('?') ? new URL(url, 'http://localhost').searchParams : new URLSearchParams();
}

/**
 * The paths with the names of their routes. Those without placeholders come first, with every method of theirs, so that
 * `/api/events/stream` is not read as an event's id.
 */
function namesByPath(): [path: string, names: RouteName[]][] {
  const placeholders = (path: string) => path.split('{').length;
  const byPath = Map.groupBy(Object.keys(ROUTES) as RouteName[], (name) => ROUTES[name].path as string);
  return [...byPath].sort(([left], [right]) => placeholders(left) - placeholders(right));
}

/** Whether a path ends in an address as it stands, its query with it. */
function takesAddress({ path }: Pick<RouteSpec, 'path'>): boolean {
  return path.endsWith('{+url}');
}

/** A path that ends in an address, with a group for each of its names. */
function addressPattern(template: string): RegExp {
  return new RegExp(`^${template.replace('{+url}', '(?<url>.+)').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

/** The path as Express writes it (path-to-regexp 8). It decodes what it names, so an address is not named. */
function expressPath(template: string): string | RegExp {
  if (takesAddress({ path: template }))
    return new RegExp(addressPattern(template).source.replace(/\(\?<\w+>/g, '(?:'));
  return template.replace(/\{\+(\w+)\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}

function addRoute(routes: Router, spec: RouteSpec, handler: RequestHandler): void {
  routes[spec.method.toLowerCase() as 'get'](expressPath(spec.path), handler);
}

/** A known address answers OPTIONS, and other methods with 405 and what it takes. */
function refuseOtherMethods(routes: Router, path: string, names: readonly RouteName[]): void {
  const methods = names.map((name) => ROUTES[name].method);
  const allow = ['OPTIONS', ...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
  routes.all(expressPath(path), (request, response) => {
    response.set('Allow', allow);
    if (request.method === 'OPTIONS') return void response.status(204).end();
    throw new Problem('method_not_allowed', `This address takes ${allow}.`, { headers: { Allow: allow } });
  });
}

function paramsOf(request: Request): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.params)) {
    params[name] = Array.isArray(value) ? value.join('/') : (value as string);
  }
  return params;
}

/** The address is read from what was sent, undecoded: it may hold percent signs of its own. */
function addressParamsOf({ path }: RouteSpec, request: Request): Record<string, string> {
  return { ...addressPattern(path).exec(request.originalUrl)?.groups };
}

async function bodyOf({ body }: RouteSpec, request: Request): Promise<unknown> {
  if (body?.kind !== 'json') return undefined;
  return checkBody(body.schema, await readJson(request, body.maxBytes, body.optional));
}

async function send(response: Response, reply: Reply): Promise<void> {
  if ('write' in reply) return reply.write(response);
  response.status(reply.status).set('Cache-Control', 'no-store');
  if (!('json' in reply) && !('jsonText' in reply)) return void response.end();
  response.set(reply.headers ?? {}).type('application/json');
  if ('json' in reply) response.send(JSON.stringify(reply.json));
  else await sendText(response, reply.jsonText);
}
