import { z } from 'zod';

/** A JSON Schema (draft 2020-12), as used by OpenAPI 3.1. */
export type JsonSchema = { [keyword: string]: unknown };

export interface MediaType {
  schema?: JsonSchema;
  example?: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

export interface ApiResponse {
  description: string;
  headers?: Record<string, { description: string; schema: JsonSchema }>;
  content?: Record<string, MediaType>;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, ApiResponse>;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
export type PathItem = Partial<Record<Method, Operation>>;

/** An OpenAPI 3.1 document, limited to the parts used here. */
export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  components: {
    schemas: Record<string, JsonSchema>;
    securitySchemes: Record<string, JsonSchema>;
  };
}

/** In input, fields with defaults may be omitted; output has all fields. */
type Direction = 'input' | 'output';

export interface SchemaUse {
  schema: z.ZodType;
  io: Direction;
}

export interface DescribedSchemas {
  /** The schemas that have an id, by id. */
  components: Record<string, JsonSchema>;
  of(schema: z.ZodType, io: Direction): JsonSchema;
}

/**
 * Converts zod schemas to JSON Schemas that refer to each other under `#/components/schemas`. If input and output of a
 * schema differ because of its defaults, the input schema is named `<id>Input`.
 */
export function describeSchemas(wanted: Iterable<SchemaUse>): DescribedSchemas {
  const described = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() };
  const named = { input: new Map<string, JsonSchema>(), output: new Map<string, JsonSchema>() };
  for (const { schema, io } of wanted) {
    if (described[io].has(schema)) continue;
    const { $defs = {}, items } = convert(schema, io);
    described[io].set(schema, items);
    for (const [id, definition] of Object.entries($defs)) named[io].set(id, definition);
  }
  const differing = differingIds(named);
  const nameOf = (id: string, io: Direction) => (io === 'input' && differing.has(id) ? `${id}Input` : id);
  const components: Record<string, JsonSchema> = {};
  for (const io of ['output', 'input'] as const) {
    for (const [id, definition] of named[io]) {
      components[nameOf(id, io)] ??= withReferences(definition, (other) => nameOf(other, io));
    }
  }
  return {
    components: Object.fromEntries(
      Object.entries(components).sort(([left], [right]) => (left < right ? -1 : 1)),
    ),
    of: (schema, io) => {
      const found = described[io].get(schema);
      if (found === undefined) throw new Error('This schema was not passed to describeSchemas.');
      return withReferences(found, (id) => nameOf(id, io));
    },
  };
}

interface Converted {
  $defs?: Record<string, JsonSchema>;
  items: JsonSchema;
}

/** Wraps the schema in an array, so that a schema with an id becomes a definition and not the root. */
function convert(schema: z.ZodType, io: Direction): Converted {
  return z.toJSONSchema(z.array(schema), {
    target: 'draft-2020-12',
    io,
    // Schemas that only code can check describe themselves with .meta(). A test ensures it.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The bounds of a safe integer, which zod adds, are noise.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // A number in a query is a string for zod but a number for the reader.
      if (jsonSchema.type === 'integer' || jsonSchema.type === 'boolean') {
        delete jsonSchema.pattern;
        delete jsonSchema.enum;
      }
      // Drops long patterns that repeat `format`, such as zod's pattern of a date.
      if (String(jsonSchema.pattern).length > 120) delete jsonSchema.pattern;
      // In output no field is omitted.
      if (io === 'output') delete jsonSchema.default;
      delete jsonSchema.id;
      spellOutNames(jsonSchema);
    },
  }) as unknown as Converted;
}

/** Replaces an enumeration of property names by one property per name. */
function spellOutNames(schema: JsonSchema): void {
  const { propertyNames, additionalProperties } = schema as {
    propertyNames?: { enum?: string[] };
    additionalProperties?: JsonSchema;
  };
  if (propertyNames?.enum === undefined || typeof additionalProperties !== 'object') return;
  schema.properties = Object.fromEntries(propertyNames.enum.map((name) => [name, additionalProperties]));
  schema.additionalProperties = false;
  delete schema.propertyNames;
}

/** Returns the ids whose input and output schemas differ, directly or through a reference. */
function differingIds(named: Record<Direction, ReadonlyMap<string, JsonSchema>>): Set<string> {
  const both = [...named.input.keys()].filter((id) => named.output.has(id));
  const differing = new Set(
    both.filter((id) => JSON.stringify(named.input.get(id)) !== JSON.stringify(named.output.get(id))),
  );
  for (let before = -1; before !== differing.size; ) {
    before = differing.size;
    for (const id of both) {
      withReferences(named.input.get(id) ?? {}, (other) => {
        if (differing.has(other)) differing.add(id);
        return other;
      });
    }
  }
  return differing;
}

const DEFINITION = '#/$defs/';

function withReferences<Value>(value: Value, nameOf: (id: string) => string): Value {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, nameOf)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' && member.startsWith(DEFINITION)
        ? `#/components/schemas/${nameOf(member.slice(DEFINITION.length))}`
        : withReferences(member, nameOf),
    ]),
  ) as Value;
}
