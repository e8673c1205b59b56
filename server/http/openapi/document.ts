import type { RouteSpec } from '../../../shared/routes/route.ts';
import { ROUTE_TAGS } from '../../../shared/routes/tags.ts';
import { operationOf, schemasOf } from './operation.ts';
import { PROBLEM_SCHEMA } from './responses.ts';
import { describeSchemas } from './schemas.ts';
import type { Method, OpenApiDocument, PathItem } from './types.ts';

/** What the description says of the node that answers with it. */
export interface DescribedNode {
  version: string;
  /** The name of the cookie that a signed-in browser sends. */
  cookieName: string;
}

/** The OpenAPI 3.1 description of a table of routes, made from the schemas that check its requests. */
export function openApiDocument(
  routes: Readonly<Record<string, RouteSpec>>,
  { version, cookieName }: DescribedNode,
): OpenApiDocument {
  const schemas = describeSchemas(Object.values(routes).flatMap((spec) => [...schemasOf(spec)]));
  const paths: Record<string, PathItem> = {};
  for (const [name, spec] of Object.entries(routes)) {
    const path = openApiPath(spec.path);
    paths[path] = {
      ...paths[path],
      [spec.method.toLowerCase() as Method]: operationOf(name, spec, schemas),
    };
  }
  const used: ReadonlySet<string> = new Set(Object.values(routes).map(({ tag }) => tag));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Strongroom',
      version,
      summary: 'An archive of research data and of what was on the web, that anyone can check',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This node' }],
    tags: Object.entries(ROUTE_TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { ...schemas.components, Problem: PROBLEM_SCHEMA },
      securitySchemes: {
        ownerToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The owner’s token, from the file `owner-token` in the data folder. For scripts.',
        },
        invitation: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of an invitation, with which a visitor contributes where the owner wants one.',
        },
        ownerSession: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName,
          description: 'What a browser gets when the owner follows the one-time sign-in link.',
        },
      },
    },
  };
}

/** OpenAPI has no way to say that a parameter spans segments (`{+path}`); the parameter's description does. */
export function openApiPath(template: string): string {
  return template.replace('{+', '{');
}

const ABOUT = `Two interfaces on one node: a data-pack archive (\`/api\`), and an archive of what was retrieved from \
the web (\`/api\`, \`/archive\`). What is under \`/manage\` is the owner's alone.

**Times** are RFC 3339 in UTC with milliseconds, by the node's own clock. **Digests** are SHA-256 as 64 lowercase hex \
digits. **JSON** is UTF-8; a name given twice, and a number or text that has no canonical form (RFC 8785), is refused.

**HEAD** works wherever GET does, and OPTIONS everywhere; another method is answered with 405 and \`Allow\`. A query \
parameter that is not listed is refused with \`unknown_parameter\`, a field that is not listed with \`unknown_field\`.

**Lists** answer with \`items\`, \`total\`, \`limit\`, \`offset\` and \`next\`: the path of the next page, or null. \
**Search** (\`q\`) takes words, all of which must occur, by their beginnings and whatever their case and accents, and \
"phrases" in quotes; any text is valid. Where more than 20,000 packs have the twelve longest words of a search for more, \
they are found by those.

**Problems** are answered as \`application/problem+json\` with a \`code\` that never changes.

Writes from a page of another origin are refused. While the node is shared, its archive may be read by pages of other \
origins, without credentials; while it is not, it may not.`;
