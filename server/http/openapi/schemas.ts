import { z } from 'zod';
import type { JsonSchema } from './types.ts';

/** What is sent has its defaults still to come; what is answered has them all. */
export type Direction = 'input' | 'output';

export interface SchemaUse {
  schema: z.ZodType;
  io: Direction;
}

export interface DescribedSchemas {
  /** The schemas that have an id of their own, by that id. */
  components: Record<string, JsonSchema>;
  of(schema: z.ZodType, io: Direction): JsonSchema;
}

/**
 * Describes zod schemas as JSON Schemas that refer to each other under `#/components/schemas`. Where a schema takes
 * less than it gives, because of its defaults, the one for requests is called `<id>Input`.
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
  const twofold = twofoldIds(named);
  const nameOf = (id: string, io: Direction) => (io === 'input' && twofold.has(id) ? `${id}Input` : id);
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
      if (found === undefined) throw new Error('This schema was not among those to be described.');
      return withReferences(found, (id) => nameOf(id, io));
    },
  };
}

interface Converted {
  $defs?: Record<string, JsonSchema>;
  items: JsonSchema;
}

/** Within an array, a schema with an id of its own becomes a definition too, rather than the root. */
function convert(schema: z.ZodType, io: Direction): Converted {
  return z.toJSONSchema(z.array(schema), {
    target: 'draft-2020-12',
    io,
    // What only code can check says of itself what it is, with .meta(); a test sees to it.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // zod's own bounds of a safe integer say nothing that a reader does not know.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // A number in a query is text to zod and a number to its reader.
      if (jsonSchema.type === 'integer' || jsonSchema.type === 'boolean') {
        delete jsonSchema.pattern;
        delete jsonSchema.enum;
      }
      // What `format` says already; zod's own pattern also counts the days of every month.
      if (String(jsonSchema.pattern).length > 120) delete jsonSchema.pattern;
      // An answer has nothing left out.
      if (io === 'output') delete jsonSchema.default;
      delete jsonSchema.id;
      spellOutNames(jsonSchema);
    },
  }) as unknown as Converted;
}

/** An object whose names are an enumeration is said name by name. */
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

/** The ids whose schema for requests is another than the one for answers, or refers to such a one. */
function twofoldIds(named: Record<Direction, ReadonlyMap<string, JsonSchema>>): Set<string> {
  const both = [...named.input.keys()].filter((id) => named.output.has(id));
  const twofold = new Set(
    both.filter((id) => JSON.stringify(named.input.get(id)) !== JSON.stringify(named.output.get(id))),
  );
  for (let before = -1; before !== twofold.size; ) {
    before = twofold.size;
    for (const id of both) {
      withReferences(named.input.get(id) ?? {}, (other) => {
        if (twofold.has(other)) twofold.add(id);
        return other;
      });
    }
  }
  return twofold;
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
