import type { JsonSchema } from '../openapi/types.ts';
import { Html, html, inline } from './html.ts';

const COMPONENT = '#/components/schemas/';

/** What a value is, in a few words, with links to the schemas that have names. */
export function typeText(schema: JsonSchema): Html {
  const { $ref, type, items, anyOf, additionalProperties } = schema;
  if (typeof $ref === 'string') return schemaLink($ref.slice(COMPONENT.length));
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (Array.isArray(schema.enum)) {
    return joined(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' · ',
    );
  }
  if (Array.isArray(anyOf)) return joined((anyOf as JsonSchema[]).map(typeText), ' or ');
  if (type === 'array') {
    return isSchema(items) ? html`list of ${typeText(items)}` : html`list`;
  }
  if (isSchema(additionalProperties) && !schema.properties) {
    return html`object of names and ${typeText(additionalProperties)}`;
  }
  if (Array.isArray(type)) return html`${type.join(' or ')}`;
  if (typeof schema.format === 'string') return html`${schema.format}`;
  if (typeof schema.pattern === 'string') return html`<code>${schema.pattern}</code>`;
  if (typeof type === 'string') return html`${type}`;
  return html`anything`;
}

export function schemaLink(name: string): Html {
  return html`<a href="#schema-${name}">${name}</a>`;
}

/** The fields of an object, or what a value is; objects within objects are shown in place. */
export function schemaView(schema: JsonSchema): Html {
  const within = objectWithin(schema);
  if (!within?.properties) return html`<p class="type">${typeText(schema)}${rules(schema)}</p>`;
  const isList = within !== schema && schema.type === 'array';
  return html`${isList && html`<p class="type">list of</p>`}${fields(within)}`;
}

function fields({ properties, required }: JsonSchema): Html {
  const needed: ReadonlySet<string> = new Set((required as string[] | undefined) ?? []);
  const rows = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => {
    const within = objectWithin(schema);
    const inner = within?.properties ? fields(within) : undefined;
    return html`<li><code class="name">${name}</code>${!needed.has(name) && html` <span class="may">may be left out</span>`}
<span class="type">${typeWithout(schema, within)}${rules(schema)}</span>${inner}</li>`;
  });
  return html`<ul class="fields">${rows}</ul>`;
}

/** The object that a schema is, may be, or is a list of, where its fields stand in place. */
function objectWithin(schema: JsonSchema): JsonSchema | undefined {
  if (isSchema(schema.properties)) return schema;
  if (schema.type === 'array' && isSchema(schema.items)) return objectWithin(schema.items);
  if (Array.isArray(schema.anyOf)) {
    return (schema.anyOf as JsonSchema[]).map(objectWithin).find((found) => found !== undefined);
  }
  return undefined;
}

function typeWithout(schema: JsonSchema, within: JsonSchema | undefined): Html {
  if (!within?.properties) return typeText(schema);
  if (schema.type === 'array') return html`list of objects`;
  return schema === within ? html`object` : html`object or null`;
}

function rules(schema: JsonSchema): Html {
  const { pattern, format, description } = schema;
  const said = [
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
    between(schema.minimum, schema.maximum, ''),
    typeof pattern === 'string' && typeof format === 'string' && html`<code>${pattern}</code>`,
    'default' in schema && html`<code>${JSON.stringify(schema.default)}</code> if left out`,
    typeof description === 'string' && inline(description),
  ].filter((rule) => rule instanceof Html);
  return said.length > 0 ? html`<span class="rules">${joined(said, '; ')}</span>` : html``;
}

function between(low: unknown, high: unknown, unit: string): Html | undefined {
  const least = typeof low === 'number' ? low : undefined;
  const most = typeof high === 'number' ? high : undefined;
  if (least !== undefined && most !== undefined) return html`${least} to ${most}${unit}`;
  if (most !== undefined) return html`at most ${most}${unit}`;
  return least === undefined ? undefined : html`at least ${least}${unit}`;
}

function joined(pieces: readonly Html[], separator: string): Html {
  return html`${pieces.map((piece, index) => (index > 0 ? html`${separator}${piece}` : piece))}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
