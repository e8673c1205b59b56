import { z } from 'zod';
import { itemIdSchema } from '../../../shared/comment.ts';
import { digestSchema, packIdSchema, sourceIdSchema, studyIdSchema } from '../../../shared/digest.ts';
import { jobIdSchema } from '../../../shared/job.ts';
import { tilePathSchema } from '../../../shared/ledger.ts';
import { nodePathSchema } from '../../../shared/node.ts';
import type { Access, BodySpec, RouteSpec } from '../../../shared/routes/route.ts';
import { httpUrlSchema } from '../../../shared/text.ts';
import { describeResponses } from './responses.ts';
import type { DescribedSchemas, SchemaUse } from './schemas.ts';
import type { MediaType, Operation, Parameter } from './types.ts';

/** Every schema that a route speaks of, and whether it is sent or answered with. */
export function* schemasOf(spec: RouteSpec): Generator<SchemaUse> {
  for (const { schema } of pathParameters(spec)) yield { schema, io: 'input' };
  for (const schema of Object.values(spec.query?.shape ?? {}) as z.ZodType[]) yield { schema, io: 'input' };
  const { body } = spec;
  if (body?.kind === 'json') yield { schema: body.schema, io: 'input' };
  if (body?.kind === 'stream') {
    if (body.json) yield { schema: body.json, io: 'input' };
    for (const part of Object.values(body.parts ?? {})) {
      if (part !== 'files') yield { schema: part, io: 'input' };
    }
  }
  for (const { schema } of Object.values(spec.answers)) if (schema) yield { schema, io: 'output' };
}

export function operationOf(name: string, spec: RouteSpec, schemas: DescribedSchemas): Operation {
  const parameters = parametersOf(spec, schemas);
  return {
    operationId: name,
    tags: [spec.tag],
    summary: spec.summary,
    description: [spec.description, WHO_MAY[spec.access]].filter(Boolean).join('\n\n'),
    security: SECURITY[spec.access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(spec.body ? { requestBody: requestBodyOf(spec.body, schemas) } : {}),
    responses: describeResponses(spec, schemas),
  };
}

const WHO_MAY: Record<Access, string> = {
  open: 'Open to whoever reaches the node.',
  read: 'Open to whoever may read the archive: anybody on this machine, and visitors while the node is shared.',
  contribute:
    'For the owner, and for visitors while the node is shared for contributions: with an invitation where the owner wants one.',
  owner: 'For the owner alone.',
};

type Requirement = Record<string, string[]>;
const OWNER: Requirement[] = [{ ownerToken: [] }, { ownerSession: [] }];
const SECURITY: Record<Access, Requirement[]> = {
  open: [{}],
  read: [{}, ...OWNER],
  contribute: [...OWNER, { invitation: [] }, {}],
  owner: OWNER,
};

/** What stands for `{id}` after each of these segments; elsewhere it is some text. */
const IDS: Readonly<Record<string, z.ZodType>> = {
  packs: packIdSchema,
  studies: studyIdSchema,
  items: itemIdSchema,
  sources: sourceIdSchema,
  jobs: jobIdSchema,
  events: z.int().min(1),
};
const ANY_ID = z.string().min(1);

interface PathParameter {
  name: string;
  schema: z.ZodType;
  description: string;
}

function pathParameters({ path }: RouteSpec): PathParameter[] {
  return [...path.matchAll(/([\w-]*)\}?\/\{(\+?)(\w+)\}/g)].map(([, before = '', rest, name = '']) => {
    if (name === 'url') {
      return { name, schema: httpUrlSchema, description: 'An address as it stands, its query with it.' };
    }
    if (name === 'tile') {
      const description = 'Level, index and width, as C2SP tlog-tiles writes them: `0/x001/x234/067.p/8`.';
      return { name, schema: tilePathSchema, description };
    }
    if (rest) {
      const description = 'All its segments: the slashes between them are sent as they are.';
      return { name, schema: nodePathSchema, description };
    }
    if (name === 'sha256') return { name, schema: digestSchema, description: 'The digest of the bytes.' };
    return { name, schema: IDS[before] ?? ANY_ID, description: `The ${name} of one of the ${before}.` };
  });
}

function parametersOf(spec: RouteSpec, schemas: DescribedSchemas): Parameter[] {
  const inPath = pathParameters(spec).map(
    ({ name, schema, description }): Parameter => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: schemas.of(schema, 'input'),
    }),
  );
  const inQuery = Object.entries((spec.query?.shape ?? {}) as Record<string, z.ZodType>).map(
    ([name, schema]) => queryParameter(name, schema, schemas),
  );
  const inHeaders = Object.entries({ ...(206 in spec.answers ? RANGE_HEADERS : {}), ...spec.headers }).map(
    ([name, description]): Parameter => ({ name, in: 'header', description, schema: { type: 'string' } }),
  );
  return [...inPath, ...inQuery, ...inHeaders];
}

const RANGE_HEADERS = {
  Range: 'One range of bytes or many (RFC 9110, section 14).',
  'If-Range': 'The entity tag that the range is of; where it is another, the whole is sent.',
  'If-None-Match': 'The entity tag of the copy held: 304 if it is the same.',
};

function queryParameter(name: string, schema: z.ZodType, schemas: DescribedSchemas): Parameter {
  const left = schema.safeParse(undefined);
  const { description, ...described } = schemas.of(schema, 'input');
  const fallback = left.success && left.data !== undefined ? { default: left.data } : {};
  return {
    name,
    in: 'query',
    ...(left.success ? {} : { required: true }),
    ...(typeof description === 'string' ? { description } : {}),
    schema: { ...described, ...fallback },
  };
}

function requestBodyOf(body: BodySpec, schemas: DescribedSchemas): NonNullable<Operation['requestBody']> {
  if (body.kind === 'json') {
    const schema = schemas.of(body.schema, 'input');
    return { required: !body.optional, content: { 'application/json': { schema } } };
  }
  const { mediaTypes, json, parts } = body;
  const contentOf = (mediaType: string): MediaType => {
    if (mediaType === 'application/json' && json) return { schema: schemas.of(json, 'input') };
    if (mediaType === 'multipart/form-data' && parts) return { schema: partsSchema(parts, schemas) };
    return mediaType.startsWith('text/') ? { schema: { type: 'string' } } : {};
  };
  return {
    required: true,
    content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, contentOf(mediaType)])),
  };
}

function partsSchema(
  parts: NonNullable<Extract<BodySpec, { kind: 'stream' }>['parts']>,
  schemas: DescribedSchemas,
) {
  const files = {
    type: 'array',
    items: { contentMediaType: 'application/octet-stream' },
    description: 'One part for each file, with its whole path as file name.',
  };
  const properties = Object.entries(parts).map(([name, part]) => [
    name,
    part === 'files' ? files : schemas.of(part, 'input'),
  ]);
  const required = Object.entries(parts).flatMap(([name, part]) => (part === 'files' ? [] : [name]));
  return { type: 'object', properties: Object.fromEntries(properties), required };
}
