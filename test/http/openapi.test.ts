import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EXAMPLES } from '../../server/http/openapi/examples.ts';
import type { JsonSchema, MediaType, OpenApiDocument, Operation } from '../../server/http/openapi/schemas.ts';
import { PROBLEMS } from '../../shared/problems.ts';
import type { RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS } from '../../shared/routes.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

const execute = promisify(execFile);
const routes = Object.entries(ROUTE_SPECS);

describe('GET /api/openapi.json (contract, section 1: Description)', () => {
  let document: OpenApiDocument;

  beforeAll(async () => {
    const node = await openTestNode();
    const response = await node.fetch('/api/openapi.json');
    expect(response.headers.get('Content-Type')).toContain('application/json');
    document = (await response.json()) as OpenApiDocument;
    await closeTestNodes();
  });
  afterEach(closeTestNodes);

  test('is valid OpenAPI 3.1 and passes the rules that Redocly recommends, without network access', async () => {
    const file = join(await temporaryFolder(), 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    const redocly = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js');
    const config = join(import.meta.dirname, 'redocly.yaml');
    // Nothing listens on this proxy, so every external request would fail.
    const proxy = 'http://127.0.0.1:9';
    const { stdout, stderr } = await execute(
      process.execPath,
      [redocly, 'lint', file, '--config', config, '--format', 'json', '--max-problems', '50'],
      {
        env: {
          ...process.env,
          REDOCLY_TELEMETRY: 'off',
          REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
          HTTP_PROXY: proxy,
          HTTPS_PROXY: proxy,
        },
      },
    ).catch((failure: { stdout: string; stderr: string }) => failure);
    expect(stderr).not.toMatch(/error/i);
    const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: { message: string }[] };
    expect(problems.map(({ message }) => message)).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  test('contains exactly the routes of the table', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(
        ([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`,
      ),
    );
    const known = routes.map(([name, { method, path }]) => `${name} ${method} ${path.replace('{+', '{')}`);
    expect(described.sort()).toEqual(known.sort());
  });

  test('every operation describes its parameters, bodies, responses, access and problems by status', () => {
    for (const [name, spec] of routes) {
      const operation = operationOf(document, spec);
      const parameters = (operation.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`);
      for (const parameter of Object.keys(spec.query?.shape ?? {})) {
        expect(parameters, name).toContain(`query ${parameter}`);
      }
      for (const [, parameter] of spec.path.matchAll(/\{\+?(\w+)\}/g)) {
        expect(parameters, name).toContain(`path ${parameter}`);
      }
      expect(operation.requestBody !== undefined, name).toBe(spec.body !== undefined);
      for (const [status, { schema }] of Object.entries(spec.responses)) {
        const content = operation.responses[status]?.content ?? {};
        expect('application/json' in content, `${name} ${status}`).toBe(schema !== undefined);
      }
      for (const code of [...(spec.problems ?? []), 'internal_error', 'unknown_host'] as const) {
        const response = operation.responses[PROBLEMS[code].status];
        expect(JSON.stringify(response?.content?.['application/problem+json']), name).toContain(`"${code}"`);
      }
      const isOpen = operation.security.some((needed) => Object.keys(needed).length === 0);
      expect(isOpen, name).toBe(spec.access !== 'owner' && spec.access !== 'paired');
    }
  });

  test('every reference resolves, and only values of any type are described without a type', () => {
    const { schemas } = document.components;
    const empty: string[] = [];
    const visit = (schema: JsonSchema | boolean, path: string) => {
      if (typeof schema === 'boolean') return;
      const { $ref } = schema;
      if (typeof $ref === 'string') {
        expect(schemas, path).toHaveProperty($ref.replace('#/components/schemas/', ''));
      }
      const says = Object.keys(schema).some((keyword) => keyword !== 'description' && keyword !== 'default');
      if (!says) empty.push(path);
      for (const [where, inner] of innerSchemas(schema)) visit(inner, `${path}/${where}`);
    };
    for (const [name, schema] of Object.entries(schemas)) visit(schema, name);
    for (const [path, item] of Object.entries(document.paths)) {
      for (const operation of Object.values(item)) {
        for (const parameter of operation.parameters ?? [])
          visit(parameter.schema, `${path} ${parameter.name}`);
        for (const { content = {} } of Object.values(operation.responses)) {
          for (const { schema } of Object.values(content)) if (schema) visit(schema, path);
        }
        for (const { schema } of Object.values(operation.requestBody?.content ?? {})) {
          if (schema) visit(schema, path);
        }
      }
    }
    expect(empty.filter((path) => !MAY_BE_ANYTHING.test(path))).toEqual([]);
  });

  test('fields with defaults are optional in requests and required in responses', () => {
    const { Pack, PackRecord, Author, AuthorInput } = document.components.schemas;
    expect(Pack?.required).toContain('keywords');
    expect(PackRecord?.required).not.toContain('keywords');
    expect(PackRecord?.required).toContain('title');
    expect(Author?.required).toEqual(['name', 'orcid', 'affiliation']);
    expect(AuthorInput?.required).toEqual(['name']);
  });

  test('every example is valid by its schema, and every main route has one', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
    formats.default(ajv, ['date-time', 'date', 'uri', 'email']);
    ajv.addSchema(document, 'description');
    const found: string[] = [];
    const check = (place: string, content: Record<string, MediaType> = {}) => {
      const example = content['application/json']?.example;
      if (example === undefined) return;
      found.push(place.split(' ', 1)[0] ?? '');
      const schema = withAbsoluteReferences(content['application/json']?.schema ?? {});
      const isValid = ajv.compile(schema);
      expect(isValid(example) ? [] : isValid.errors, place).toEqual([]);
    };
    for (const [name, spec] of routes) {
      const operation = operationOf(document, spec);
      check(`${name} request`, operation.requestBody?.content);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        check(`${name} ${status}`, content);
      }
    }
    expect([...new Set(found)].sort()).toEqual(Object.keys(EXAMPLES).sort());
  });

  test('HEAD responds like GET, and parameters are refused', async () => {
    const node = await openTestNode();
    const head = await node.fetch('/api/openapi.json', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await node.fetch('/api/openapi.json?pretty=1')).status).toBe(400);
  });
});

/**
 * The result of a job depends on its kind. The record and the form of a draft are kept as they are typed. The paths of the
 * document are defined by OpenAPI itself.
 */
const MAY_BE_ANYTHING =
  /^(Job\/properties\/result|DraftRecord\/properties\/\w+|(Draft|\/manage\/drafts.*)\/properties\/form\/.*|\/api\/openapi\.json\/.*additionalProperties)$/;

/** A schema of the document, to be compiled by itself. */
function withAbsoluteReferences(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"description#/')) as JsonSchema;
}

function operationOf(document: OpenApiDocument, { method, path }: RouteSpec): Operation {
  const item = document.paths[path.replace('{+', '{')] as Record<string, Operation>;
  return item[method.toLowerCase()] as Operation;
}

function* innerSchemas(schema: JsonSchema): Generator<[string, JsonSchema]> {
  for (const keyword of ['properties', '$defs', 'patternProperties']) {
    const inner = (schema[keyword] ?? {}) as Record<string, JsonSchema>;
    for (const [name, each] of Object.entries(inner)) yield [`${keyword}/${name}`, each];
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const inner = (schema[keyword] ?? []) as JsonSchema[];
    for (const [index, each] of inner.entries()) yield [`${keyword}/${index}`, each];
  }
  for (const keyword of ['items', 'additionalProperties', 'propertyNames', 'not']) {
    if (schema[keyword] !== undefined) yield [keyword, schema[keyword] as JsonSchema];
  }
}
