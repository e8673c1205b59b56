import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { openApiDocument, openApiPath } from '../../server/http/openapi/document.ts';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';

const document = openApiDocument(ROUTE_SPECS, { version: 'test' });
const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
// `uri` is not checked, because the archive also keeps IRIs unchanged.
formats.default(ajv, ['date-time', 'date']);
ajv.addSchema(document, 'description');

/** Routes without placeholders come first and match every method of their path, as in the node. */
const addresses = (Object.keys(ROUTE_SPECS) as RouteName[])
  .map((name) => ({ name, ...ROUTE_SPECS[name] }))
  .sort((left, right) => left.path.split('{').length - right.path.split('{').length)
  .map(({ name, method, path }) => ({ name, method, path: openApiPath(path), pattern: patternOf(path) }));

function patternOf(template: string): RegExp {
  const literal = template.replace(/[.]/g, '\\$&');
  return new RegExp(`^${literal.replace(/\{\+\w+\}/g, '.+').replace(/\{\w+\}/g, '[^/]+')}$`);
}

/**
 * Checks a response against the node's OpenAPI document: its status, its media type and, for JSON, its body. The response
 * can still be read afterwards.
 *
 * @throws Error that names the request and each difference
 */
export async function checkResponse(method: string, url: URL, response: Response): Promise<void> {
  if (method === 'OPTIONS') return;
  const asked = method === 'HEAD' ? 'GET' : method;
  const path = addresses.find(({ pattern }) => pattern.test(url.pathname))?.path;
  const address = addresses.find((each) => each.path === path && each.method === asked);
  const mediaType = (response.headers.get('Content-Type') ?? '').split(';', 1)[0] ?? '';
  const isProblem = mediaType === 'application/problem+json';
  const fail = (what: string) => {
    const name = address ? ` (${address.name} in shared/routes/)` : '';
    throw new Error(
      `${method} ${url.pathname}${url.search}${name} answered ${response.status}, which differs from the node's OpenAPI document: ${what}`,
    );
  };
  if (!address) {
    if (isProblem) await validate('/components/schemas/Problem', method, response, fail);
    return;
  }
  const operation = `/paths/${escaped(address.path)}/${asked.toLowerCase()}`;
  const item = document.paths[address.path] as Record<string, { responses: Record<string, Described> }>;
  const described = item[asked.toLowerCase()]?.responses[response.status];
  if (!described)
    return fail(`it knows no ${response.status} here. Add it to the responses or the problems.`);
  const types = Object.keys(described.content ?? {});
  const declared = types.find((type) => type === mediaType) ?? types.find((type) => type === '*/*');
  if (types.length > 0 && declared === undefined) {
    return fail(`it names ${types.join(', ')} here, not ${mediaType || 'none'}.`);
  }
  if (declared === undefined || !described.content?.[declared]?.schema || !/[/+]json$/.test(declared)) return;
  const place = `${operation}/responses/${response.status}/content/${escaped(declared)}/schema`;
  await validate(place, method, response, fail);
}

type Described = { content?: Record<string, { schema?: object }> };

async function validate(
  place: string,
  method: string,
  response: Response,
  fail: (what: string) => void,
): Promise<void> {
  if (method === 'HEAD') return;
  const schema = ajv.getSchema(`description#${place}`) as ValidateFunction | undefined;
  if (!schema) throw new Error(`The OpenAPI document has nothing at ${place}.`);
  const body: unknown = JSON.parse(await response.clone().text());
  if (!schema(body)) fail(`\n${(schema.errors ?? []).slice(0, 10).map(describeError).join('\n')}`);
}

function describeError({ instancePath, message, params }: ErrorObject): string {
  return `  ${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`;
}

/** Escapes one segment of a JSON Pointer in a URL fragment. */
function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'));
}
