import { ROUTE_TAGS, type RouteSpec } from '../../../shared/routes/route.ts';
import { operationOf, PROBLEM_SCHEMA, schemasOf } from './operation.ts';
import { describeSchemas, type Method, type OpenApiDocument, type PathItem } from './schemas.ts';

/*
 * Zod converts the schemas; this folder only arranges them. `zod-openapi` and `@asteasolutions/zod-to-openapi` do that too,
 * but from operations written in their own form (`createDocument({ paths })`, `registry.registerPath`). The route table,
 * which also types the handlers and the client, would have to be translated into that form first.
 */

/** Properties of the node that appear in its OpenAPI document. */
export interface DescribedNode {
  version: string;
}

/** Returns the OpenAPI 3.1 document of a table of routes, generated from the schemas that validate requests. */
export function openApiDocument(
  routes: Readonly<Record<string, RouteSpec>>,
  { version }: DescribedNode,
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
      summary: 'A verifiable archive of research data and of observed web sources',
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
          description: 'The owner’s token, for scripts. It is in the file `owner-token` of the data folder.',
        },
        invitation: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of an invitation. Visitors need one to contribute if the owner requires invitations.',
        },
        pairedBrowser: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of a paired browser. It is accepted on the node’s machine and over HTTPS only.',
        },
        ownerSession: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token that a page gets for its key (`POST /api/session`). It is valid until the node stops.',
        },
      },
    },
  };
}

/** OpenAPI cannot express that a parameter spans segments (`{+path}`), so the parameter's description says it. */
export function openApiPath(template: string): string {
  return template.replace('{+', '{');
}

const ABOUT = `A node serves two archives: data packs (\`/api\`), and observed web sources (\`/api\`, \`/archive\`). \
Only the owner can use the paths below \`/manage\`.

**Times** are RFC 3339 in UTC with milliseconds, from the node's clock. **Digests** are SHA-256, as 64 lowercase hex \
digits. **JSON** is UTF-8. Duplicate keys, and numbers or strings without a canonical form (RFC 8785), are refused.

**Methods**: every path that supports GET supports HEAD, and every path supports OPTIONS. Other methods return 405 with \
\`Allow\`. Unknown query parameters are refused with \`unknown_parameter\`, unknown fields with \`unknown_field\`.

**Lists** return \`items\`, \`total\`, \`limit\`, \`offset\` and \`next\`, which is the path of the next page or null.

**Search** (\`q\`) finds items that contain all words. A word also matches longer words that start with it. Case and \
accents are ignored. "Quoted text" matches as a phrase. Every text is a valid query. If a query has more than twelve \
words and more than 20,000 packs contain the twelve longest, the other words are ignored.

**Problems** are returned as \`application/problem+json\`. The \`code\` of a problem never changes.

**Cross-origin requests**: writes from a page of another origin are refused. While the node is shared, pages of other \
origins may read the archive without credentials; otherwise they may not.`;
